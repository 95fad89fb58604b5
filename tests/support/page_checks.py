"""What every page must keep, asked in the browser: FAULTS is an expression whose value lists what
is wrong, in words.

Text is read on what lies under it (WCAG 2.1: 4.5, or 3 where it is large), in the document and in
charts; ticks of an axis are told apart; labels of a chart neither overlap nor leave it; no row of
facts holds a single one; what a click reaches has a name, and the Tab key and Enter reach it as
well (2.1.1, 4.1.2).
"""

FAULTS = """(() => {
  const faults = [];
  const brush = document.createElement('canvas').getContext('2d');
  const parts = (colour) => {
    brush.fillStyle = '#000';
    brush.fillStyle = colour;
    const said = brush.fillStyle;
    if (said[0] !== '#') return said.match(/[\\d.]+/g).map(Number);
    return [1, 3, 5].map((i) => parseInt(said.slice(i, i + 2), 16)).concat(1);
  };
  const over = (top, ground, opacity = 1) => {
    const share = (top[3] ?? 1) * opacity;
    return [0, 1, 2].map((i) => share * top[i] + (1 - share) * ground[i]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((p) =>
      p / 255 <= 0.04045 ? p / 255 / 12.92 : ((p / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const check = (what, text, colour, ground, least) => {
    const [low, high] = [luminance(colour), luminance(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < least) faults.push(`${what} "${text}" has a contrast of ${contrast.toFixed(2)}`);
  };
  const groundOf = (node) => {
    if (!node) return [255, 255, 255];
    const ground = parts(getComputedStyle(node).backgroundColor);
    return ground[3] === 1 ? ground : over(ground, groundOf(node.parentElement));
  };

  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (!text || !node.getClientRects().length || node.closest('script, .chart')) continue;
    const style = getComputedStyle(node);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 600);
    const ground = groundOf(node);
    check(node.tagName, text, over(parts(style.color), ground), ground, isLarge ? 3 : 4.5);
  }

  for (const place of document.querySelectorAll('.chart')) {
    const name = place.dataset.chart;
    const chart = echarts.getInstanceByDom(place);
    for (const kind of ['xAxis', 'yAxis']) {
      chart.getModel().eachComponent(kind, ({axis}) => {
        if (axis.type === 'category') return;
        const at = new Map(axis.getViewLabels().map(({tickValue, formattedLabel}) =>
          [Math.round(axis.dataToCoord(tickValue)), formattedLabel]));
        const shown = [...at.values()];
        if (new Set(shown).size < shown.length) faults.push(`${name}, ticks: ${shown}`);
      });
    }
    const card = groundOf(place);
    const list = chart.getZr().storage.getDisplayList(true);
    const texts = [];
    for (const [i, each] of list.entries()) {
      const {text, fill, opacity, fillOpacity} = each.style;
      if (each.type !== 'tspan' || !text.trim() || each.ignore || each.invisible) continue;
      const box = each.getBoundingRect().clone();
      box.applyTransform(each.getComputedTransform() || [1, 0, 0, 1, 0, 0]);
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const clips = each.__clipPaths || [];  // of a legend that scrolls
      if (clips.some((clip) => !clip.contain(x, y))) continue;
      const below = list.slice(0, i).filter((other) => other.type !== 'tspan' && !other.ignore
        && !other.invisible && typeof other.style.fill === 'string'
        && !['none', 'transparent'].includes(other.style.fill) && other.contain(x, y));
      const ground = below.reduce((ground, {style}) => over(parts(style.fill), ground,
        (style.opacity ?? 1) * (style.fillOpacity ?? 1)), card);
      const colour = over(parts(fill), ground, (opacity ?? 1) * (fillOpacity ?? 1));
      check(name, text, colour, ground, 4.5);
      if (clips.length) continue;
      if (box.x < -1 || box.y < -1 || box.x + box.width > chart.getWidth() + 1
          || box.y + box.height > chart.getHeight() + 1) faults.push(`${name}: "${text}" is cut`);
      for (const [other, its] of texts) {
        if (Math.min(box.x + box.width, its.x + its.width) - Math.max(box.x, its.x) > 2
            && Math.min(box.y + box.height, its.y + its.height) - Math.max(box.y, its.y) > 4)
          faults.push(`${name}: "${text}" lies over "${other}"`);
      }
      texts.push([text, box]);
    }
  }

  const isNamed = (node) => [node.getAttribute('aria-label'), node.title, node.textContent,
    ...[...(node.labels || [])].map((label) => label.textContent),
    ...[...node.querySelectorAll('img')].map((image) => image.alt)]
    .some((text) => (text || '').trim());
  for (const node of document.querySelectorAll('*')) {
    const inChart = node.parentElement && node.parentElement.closest('.chart');
    if (inChart || !node.getClientRects().length || node.disabled) continue;
    const listens = (kind) => Boolean(node.listensTo && node.listensTo.has(kind));
    const isNative = node.matches('a[href], button, select, input, textarea, summary');
    if (!isNative && !listens('click') && !node.hasAttribute('tabindex')) continue;
    const what = `${node.tagName} "${node.textContent.trim().slice(0, 30)}"`;
    if (node.tabIndex < 0) faults.push(`${what} is out of reach of the Tab key`);
    if (!isNative && listens('click') && !listens('keydown')) faults.push(`${what} takes no key`);
    if (!isNamed(node)) faults.push(`${what} has no name`);
  }

  for (const list of document.querySelectorAll('.facts')) {
    const rows = {};
    for (const fact of list.children) (rows[fact.offsetTop] ??= []).push(fact.textContent);
    const [first, ...others] = Object.values(rows);
    if (first && first.length > 2 && others.some((row) => row.length === 1 && row[0].length < 40))
      faults.push(`one fact in its own row: ${others.find((row) => row.length === 1)}`);
  }
  return faults;
})()"""
