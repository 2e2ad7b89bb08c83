// The search runs in a worker, and browsers start none from a file: of pages on a disk, a hidden frame is the worker.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      const inside = (this.inside = frame.contentWindow)
      inside.document.open()
      inside.document.write("<body></body>")
      inside.document.close()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.document.createElement("script")
      this.ready = new Promise(resolve => (script.onload = resolve))
      script.src = new URL(address, location)
      inside.document.body.append(script)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
