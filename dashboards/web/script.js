// What the pages do in a browser: draw charts, fetch slow sections, submit choices, and follow a study that runs.
"use strict";

const body = document.body;
let library; // the script that draws charts, loaded with the first chart

function loaded() {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = body.dataset.charts;
    script.type = "module"; // its hundreds of names stay out of ours
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return library;
}

function element(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text }, properties);
}

// Charts. A figure keeps the text of what it shows, so that it is drawn again only if that has changed.

async function draw(figure) {
  const loading = loaded().catch(() => "The script that draws charts cannot be had."); // while the chart is fetched
  const answer = await fetch(figure.dataset.chart);
  const text = await answer.text();
  if (answer.status === 204 && !figure.gone) {
    figure.gone = true; // the study has grown since the section was made, and has other charts
    const section = figure.closest("section");
    refresh(section, addressOf(section.id));
  }
  if (figure.shown === text || answer.status === 204) return;
  const missing = answer.ok ? await loading : text;
  if (typeof missing === "string") {
    figure.replaceChildren(element("p", missing, { className: "empty" }));
    return;
  }
  const chart = JSON.parse(text);
  const panels = element("div", "", { className: "panels" });
  const places = chart.panels.map(() => element("div", "", { className: "panel" }));
  panels.append(...places); // all at once, since a chart is as wide as its place
  const views = [];
  const shown = [element("h3", chart.headline), element("p", chart.note, { className: "pale" }), panels];
  if (figure.shown === undefined) figure.replaceChildren(...shown); // a first chart needs its width to be drawn
  else figure.append(...shown.slice(2));
  for (const [number, specification] of chart.panels.entries()) {
    const panel = places[number];
    const made = await window.vegaEmbed(panel, specification, {
      renderer: "svg",
      ast: true, // expressions are interpreted, so that the page may forbid scripts made from text
      actions: { export: true, source: false, compiled: false, editor: false },
      loader: { target: "_self" },
    });
    views.push(made.view);
    panel.querySelector("svg")?.setAttribute("aria-label", chart.words);
    await new Promise((next) => setTimeout(next)); // so that this panel is seen, and answers, before the next is drawn
  }
  figure.views?.forEach((view) => view.finalize());
  figure.views = views;
  figure.shown = text;
  figure.replaceChildren(...shown, table(chart));
}

// The rows behind a chart, as a table that is made once it is opened, and as CSV.

function table(chart) {
  const details = element("details", "");
  details.append(element("summary", "The numbers"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const sets = new Map();
    for (const panel of chart.panels) for (const [name, rows] of Object.entries(panel.datasets)) sets.set(name, rows);
    for (const rows of sets.values()) if (rows.some((row) => Object.keys(row).length)) details.append(...numbers(rows, chart.headline));
  });
  return details;
}

function numbers(rows, headline) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => line.map(quoted).join(","));
  const file = new Blob([lines.join("\r\n")], { type: "text/csv" });
  const wide = element("div", "", { className: "wide", tabIndex: 0 });
  wide.setAttribute("role", "region");
  wide.setAttribute("aria-label", headline);
  const made = wide.appendChild(element("table", ""));
  const head = made.createTHead().insertRow();
  for (const name of names) head.append(element("th", name, { scope: "col" }));
  const inner = made.createTBody();
  for (const row of rows.slice(0, 500)) {
    const line = inner.insertRow();
    for (const name of names) line.append(element("td", row[name] ?? "–"));
  }
  const link = element("a", `CSV of ${rows.length} rows`, { href: URL.createObjectURL(file), download: "chart.csv" });
  return [wide, link];
}

// Sections. Figures that a section has before and after stay where they are, so that a page does not leap.

async function refresh(section, address) {
  const answer = await fetch(address);
  const text = await answer.text();
  if (section.shown === text && answer.ok) {
    section.querySelectorAll("figure[data-chart]").forEach(draw);
    return;
  }
  section.shown = text;
  const made = document.createElement("template");
  if (answer.ok) made.innerHTML = text;
  else made.content.append(element("p", text, { className: "empty" }));
  for (const figure of made.content.querySelectorAll("figure[data-chart]")) {
    const before = section.querySelector(`figure[data-chart="${CSS.escape(figure.dataset.chart)}"]`);
    if (before) figure.replaceWith(before);
  }
  const opened = [...section.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);
  for (const summary of made.content.querySelectorAll("details > summary")) {
    if (opened.includes(summary.textContent)) summary.parentElement.open = true;
  }
  const scrolled = [...section.querySelectorAll("pre")].map((each) => each.scrollTop);
  section.classList.remove("fetching");
  const focused = document.activeElement; // stays where it is on the screen, which the browser does not always see to
  const top = focused.getBoundingClientRect().top;
  section.replaceChildren(made.content);
  if (focused !== body && focused.isConnected) scrollBy(0, focused.getBoundingClientRect().top - top);
  section.querySelectorAll("pre").forEach((each, place) => each.scrollTo(0, scrolled[place] ?? 0));
  prepare(section);
}

function addressOf(key) {
  const address = new URL(location.href);
  address.searchParams.set("section", key);
  return address;
}

function prepare(part) {
  part.querySelectorAll("figure[data-chart]").forEach(draw);
  for (const section of part.querySelectorAll("section[data-soon]")) {
    refresh(section, section.dataset.soon);
    delete section.dataset.soon;
  }
  for (const details of part.querySelectorAll("details[data-opened]")) {
    details.addEventListener("toggle", () => {
      const section = details.querySelector("section");
      if (details.open && section.shown === undefined) refresh(section, details.dataset.opened);
    });
  }
  for (const form of part.querySelectorAll("form.choices")) {
    form.addEventListener("change", () => form.requestSubmit());
    form.addEventListener("formdata", (event) => {
      const given = [...event.formData.entries()].filter(([, value]) => value === "").map(([name]) => name);
      given.forEach((name) => event.formData.delete(name)); // an address has no empty choices
    });
  }
}

function follow() {
  if (!body.dataset.events) return;
  const events = new EventSource(body.dataset.events);
  const outdated = (section) => {
    if (document.hidden) section.stale = true;
    else refresh(section, addressOf(section.id));
  };
  events.onmessage = ({ data }) => {
    const section = document.getElementById(data);
    if (section) outdated(section);
  };
  let connected = false;
  events.onopen = () => {
    // After a lost connection, events may have been missed. A form keeps what the reader has typed.
    const sections = connected ? [...document.querySelectorAll("main > section")] : [];
    sections.filter((section) => !section.querySelector("form")).forEach(outdated);
    connected = true;
  };
  events.addEventListener("over", () => events.close());
  document.addEventListener("visibilitychange", () => {
    for (const section of document.querySelectorAll("section")) {
      if (!document.hidden && section.stale) refresh(section, addressOf(section.id));
      section.stale &&= document.hidden;
    }
  });
}

prepare(document);
follow();
