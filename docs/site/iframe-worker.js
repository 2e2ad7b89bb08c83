// The search runs in a worker, and browsers start none from a file: of pages on a disk, a hidden frame is the worker.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      const inside = (this.inside = frame.contentWindow)
      this.ready = new Promise(resolve => (frame.onload = resolve))
      inside.document.open()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.document.write(`<script src="${script}"></script>`)
      inside.document.close()
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
