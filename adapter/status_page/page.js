"use strict";
// The age of the page, and its charts. Without scripts, the tables beside the charts have the same numbers.
(() => {
  const stamp = document.querySelector("time[data-ms]");
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const showAge = () => {
    const seconds = Math.max(0, Math.floor((Date.now() - Number(stamp.dataset.ms)) / 1000));
    const [unit, length] = units.find(([, each]) => seconds >= each) || ["second", 1];
    const number = Math.floor(seconds / length);
    document.getElementById("age").textContent = `, ${number} ${unit}${number === 1 ? "" : "s"} ago`;
  };
  showAge();
  setInterval(showAge, 10000);

  // A figure names colors by the properties of the style, which differ in light and dark.
  const resolved = (value, style) => {
    if (typeof value === "string" && value.startsWith("--")) return style.getPropertyValue(value).trim() || value;
    if (Array.isArray(value)) return value.map((each) => resolved(each, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each, style)]));
    }
    return value;
  };
  const draw = (chart) => {
    const style = getComputedStyle(document.documentElement);
    const figure = resolved(JSON.parse(chart.nextElementSibling.textContent), style);
    figure.layout.font.family = getComputedStyle(document.body).fontFamily;
    // Plotly turns dates that find no room, and then cuts them off: no more of them than fit.
    if (figure.layout.xaxis.type === "date") {
      figure.layout.xaxis.tickangle = 0;
      figure.layout.xaxis.nticks = Math.max(2, Math.floor((chart.clientWidth - 110) / 80));
    }
    figure.layout.hoverlabel = {
      ...figure.layout.hoverlabel,
      bgcolor: style.getPropertyValue("--surface").trim(),
      bordercolor: style.getPropertyValue("--grid").trim(),
      font: {color: style.getPropertyValue("--text").trim()},
    };
    Plotly.react(chart, figure.data, figure.layout, {displayModeBar: false, responsive: true});
    chart.dataset.drawn = "yes";
  };
  const charts = [...document.querySelectorAll(".chart")];
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, {rootMargin: "400px"});
  charts.forEach((chart) => observer.observe(chart));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    charts.filter((chart) => chart.dataset.drawn).forEach(draw);
  });

  // A link into a model that is folded opens it.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", open);
  open();
  // Printed, a chart that was never in view is drawn too.
  addEventListener("beforeprint", () => charts.filter((chart) => !chart.dataset.drawn).forEach(draw));
})();
