package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// SVG draws the cluster.
func SVG(c Cluster) []byte {
	l := arrange(c)
	p := &picture{}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" font-family="%[3]s" font-size="%[4]d">`,
		l.width, l.height, fonts, fontSize)
	p.printf("<title>%s</title>", escape("Cluster "+c.Name))
	p.printf("<style>%s</style>", dark())
	p.rect("ground", box{width: l.width, height: l.height}, 0)
	p.text("title", margin, margin+titleSize, c.Name)
	p.text("muted", margin, margin+titleSize+lineHeight+4, c.subtitle())
	for _, host := range l.hosts {
		p.host(host)
	}
	p.legend(l.height - legendHeight/2)
	p.printf("</svg>")
	return p.Bytes()
}

// subtitle describes the whole cluster.
func (c Cluster) subtitle() string {
	return strings.Join(append([]string{c.Endpoint}, c.Versions...), " · ")
}

// picture is an SVG in progress.
type picture struct{ bytes.Buffer }

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(class string, x, y int, text string) {
	p.printf(`<text %s x="%d" y="%d">%s</text>`, look(class), x, y, escape(text))
}

func (p *picture) rect(class string, b box, radius int) {
	p.printf(`<rect %s x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, look(class), b.x, b.y, b.width, b.height, radius)
}

func (p *picture) circle(class string, x, y int) {
	p.printf(`<circle %s cx="%d" cy="%d" r="5"/>`, look(class), x, y)
}

func (p *picture) host(h placed) {
	p.rect("host", h.box, 8)
	p.text("muted", h.box.x+padding, h.box.y+22, hostLabel(h.host))
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
	p.circle(health.class, x+5, y-5)
	p.text("name", x+dot, y, n.Name)
	for i, line := range n.lines() {
		p.text("muted", x, y+(i+1)*lineHeight, line)
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
			p.circle(m.class, x+5, y-5)
		} else {
			p.rect(m.class, box{x: x, y: y - 11, width: 11, height: 11}, 2)
		}
		p.text("muted", x+dot, y, m.label)
		x += dot + textWidth(m.label, charWidth) + gap
	}
}

func escape(text string) string {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // writing to a buffer cannot fail
	return escaped.String()
}
