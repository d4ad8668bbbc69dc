// Measures the pages in the frames of this document, with everything unfolded.
const number = (color) => (color.match(/[\d.]+/g) || []).map(Number);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};

// ground returns the colour below a point of an element; null if the element is not shown there.
function ground(doc, win, element, x, y) {
  const stack = doc.elementsFromPoint(x, y);
  const from = stack.indexOf(element);
  if (from < 0) return null;
  for (const below of stack.slice(from)) {
    const style = win.getComputedStyle(below);
    const isShape = below.tagName === 'rect' && style.fill !== 'none';
    const color = number(isShape ? style.fill : style.backgroundColor);
    if (isShape || color.length === 3 || color[3] === 1) return color;
  }
  return [255, 255, 255];
}

function measure(frame) {
  const doc = frame.contentDocument, win = frame.contentWindow;
  doc.querySelectorAll('details').forEach((d) => { d.open = true; });
  const width = doc.documentElement.clientWidth;
  const found = {
    Width: width, Scheme: win.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light', Texts: 0, Overflows: [], Faint: [],
  };
  if (doc.documentElement.scrollHeight > win.innerHeight) found.Overflows.push('the frame is too low');
  for (const element of doc.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    const isHidden = box.width <= 1 || element.closest('thead')?.getBoundingClientRect().width <= 1;
    if (!isHidden && !element.parentElement.closest('.scroll') && (box.right > width + 0.5 || box.left < -0.5)) {
      found.Overflows.push(element.tagName + ': ' + element.textContent.trim().slice(0, 40));
    }
  }
  if (doc.documentElement.scrollWidth > width && found.Overflows.length === 0) found.Overflows.push('the page');
  const walker = doc.createTreeWalker(doc.body, 4 /* texts */);
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement;
    const range = doc.createRange();
    range.selectNodeContents(text);
    const box = range.getClientRects()[0];
    if (text.data.trim() === '' || !box || box.width === 0 || element.closest('style, title')) continue;
    const below = ground(doc, win, element, box.left + box.width / 2, box.top + box.height / 2);
    if (!below) continue; // scrolled away
    found.Texts++;
    const style = win.getComputedStyle(element);
    const ratio = contrast(number(element.tagName === 'text' ? style.fill : style.color), below);
    if (ratio < 4.5) found.Faint.push(text.data.trim() + ': ' + ratio.toFixed(2));
  }
  return found;
}

window.addEventListener('load', () => {
  const results = [...document.querySelectorAll('iframe')].map(measure);
  document.getElementById('measured').textContent = JSON.stringify(results);
});
