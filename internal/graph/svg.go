package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// style follows the reader's choice; both sets of colours keep a contrast of at least 4.5 between text and ground.
const style = `
  svg { --ground: #ffffff; --host: #f2f4f7; --card: #ffffff; --line: #c4cbd6; --text: #1b2430; --quiet: #56606f;
    --control: #2f5fd0; --worker: #17806d; --gpu: #a2541c; --healthy: #1f9d55; --unhealthy: #d33f3f; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #14181f; --host: #1c222c; --card: #262e3a; --line: #3b4656; --text: #e8ecf2; --quiet: #a3aebd;
      --control: #7ea6ff; --worker: #4fc3a8; --gpu: #f0a064; --healthy: #4ade80; --unhealthy: #ff7b7b; }
  }
  text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--text); }
  .title { font-size: 20px; font-weight: 600; }
  .name { font-weight: 600; }
  .quiet { fill: var(--quiet); }
  .ground { fill: var(--ground); }
  .host { fill: var(--host); stroke: var(--line); }
  .card { fill: var(--card); stroke: var(--line); }
  .control { fill: var(--control); }
  .worker { fill: var(--worker); }
  .gpu { fill: var(--gpu); }
  .healthy { fill: var(--healthy); }
  .unhealthy { fill: var(--unhealthy); }
  .unknown { fill: none; stroke: var(--quiet); }
`

// SVG draws the cluster.
func SVG(c Cluster) []byte {
	l := arrange(c)
	p := &picture{}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">`, l.width, l.height)
	p.printf("<title>%s</title>", escape("Cluster "+c.Name))
	p.printf("<style>%s</style>", style)
	p.printf(`<rect class="ground" width="%d" height="%d"/>`, l.width, l.height)
	p.text("title", margin, margin+titleSize, c.Name)
	p.text("quiet", margin, margin+titleSize+lineHeight+4, c.subtitle())
	for _, host := range l.hosts {
		p.host(host)
	}
	p.legend(l.height - legendHeight/2)
	p.printf("</svg>")
	return p.Bytes()
}

// subtitle is what is said of the whole.
func (c Cluster) subtitle() string {
	return strings.Join(append([]string{c.Endpoint}, c.Versions...), " · ")
}

// picture is an SVG in the making.
type picture struct{ bytes.Buffer }

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(class string, x, y int, text string) {
	p.printf(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, escape(text))
}

func (p *picture) rect(class string, b box, radius int) {
	p.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, b.x, b.y, b.width, b.height, radius)
}

func (p *picture) host(h placed) {
	p.rect("host", h.box, 8)
	p.text("quiet", h.box.x+padding, h.box.y+22, hostLabel(h.host))
	for i, node := range h.host.Nodes {
		p.card(node, h.cards[i])
	}
}

func (p *picture) card(n Node, b box) {
	health := healths[n.Health]
	p.printf("<g><title>%s</title>", escape(n.Name+": "+roles[n.Role].label+", "+health.label))
	p.rect("card", b, 6)
	p.rect(roles[n.Role].class, box{x: b.x, y: b.y, width: stripe, height: b.height}, 3)
	x, y := b.x+stripe+padding, b.y+padding+fontSize-2
	p.printf(`<circle class="%s" cx="%d" cy="%d" r="5"/>`, health.class, x+5, y-5)
	p.text("name", x+dot, y, n.Name)
	for i, line := range n.lines() {
		p.text("quiet", x, y+(i+1)*lineHeight, line)
	}
	p.printf("</g>")
}

// mark is an entry of the legend.
type mark struct {
	label, class string
	round        bool
}

func legend() []mark {
	var marks []mark
	for _, role := range roles {
		marks = append(marks, mark{label: role.label, class: role.class})
	}
	for _, health := range healths {
		marks = append(marks, mark{label: health.label, class: health.class, round: true})
	}
	return marks
}

func (p *picture) legend(y int) {
	x := margin
	for _, m := range legend() {
		if m.round {
			p.printf(`<circle class="%s" cx="%d" cy="%d" r="5"/>`, m.class, x+5, y-5)
		} else {
			p.rect(m.class, box{x: x, y: y - 11, width: 11, height: 11}, 2)
		}
		p.text("quiet", x+dot, y, m.label)
		x += dot + textWidth(m.label, charWidth) + gap
	}
}

func escape(text string) string {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a buffer takes everything
	return escaped.String()
}
