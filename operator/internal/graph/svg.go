package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// SVG draws a picture.
func SVG(d Drawn) []byte {
	s := d.scene()
	l := arrange(s)
	content := &picture{used: map[string]bool{}}
	content.rect("ground", box{width: l.width, height: l.height}, 0)
	content.text("title", margin, margin+titleSize, s.name)
	content.text("muted", margin, margin+titleSize+lineHeight+4, s.about)
	for _, one := range l.bands {
		content.band(one)
	}
	for _, one := range l.legend {
		content.mark(one)
	}
	p := &picture{}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" font-family="%[3]s" font-size="%[4]d">`,
		l.width, l.height, fonts, fontSize)
	p.printf("<title>%s</title>", escape(s.title))
	p.printf("<style>%s</style>", dark(content.used))
	p.Write(content.Bytes())
	p.printf("</svg>")
	return p.Bytes()
}

// picture is an SVG in progress.
type picture struct {
	bytes.Buffer

	used map[string]bool // the classes of its shapes
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// look returns the class of a shape with its presentation attributes.
func (p *picture) look(class string) string {
	p.used[class] = true
	return attributes[class]
}

func (p *picture) text(class string, x, y int, text string) {
	p.printf(`<text %s x="%d" y="%d">%s</text>`, p.look(class), x, y, escape(text))
}

func (p *picture) rect(class string, b box, radius int) {
	p.printf(`<rect %s x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, p.look(class), b.x, b.y, b.width, b.height, radius)
}

func (p *picture) circle(class string, x, y int) {
	p.printf(`<circle %s cx="%d" cy="%d" r="5"/>`, p.look(class), x, y)
}

func (p *picture) band(b placedBand) {
	if b.heading != "" {
		p.text("name", margin, b.y, b.heading)
	}
	for _, one := range b.areas {
		p.area(one)
	}
}

func (p *picture) area(a placed) {
	p.rect("host", a.box, 8)
	p.text("muted", a.box.x+padding, a.box.y+22, a.area.label)
	for _, one := range a.groups {
		p.group(one)
	}
}

func (p *picture) group(g placedGroup) {
	if g.group.label != "" {
		p.rect(g.group.class, g.box, 7)
		p.text("muted", g.box.x+framePadding, g.box.y+20, g.group.label)
	}
	for i, one := range g.group.cards {
		p.card(one, g.cards[i])
	}
}

func (p *picture) card(c card, b box) {
	hint := c.name
	if c.hint != "" {
		hint += ": " + c.hint
	}
	p.printf("<g><title>%s</title>", escape(hint))
	p.rect("card", b, 6)
	if c.stripe != "" {
		p.rect(c.stripe, box{x: b.x, y: b.y, width: stripe, height: b.height}, 3)
	}
	x, y := b.x+stripe+padding, b.y+padding+fontSize-2
	name := x
	if c.mark != "" {
		p.circle(c.mark, x+5, y-5)
		name += dot
	}
	p.text("name", name, y, c.name)
	for i, line := range c.lines {
		p.text("muted", x, y+(i+1)*lineHeight, line)
	}
	p.printf("</g>")
}

func (p *picture) mark(m placedMark) {
	if m.mark.round {
		p.circle(m.mark.class, m.x+5, m.y-5)
	} else {
		p.rect(m.mark.class, box{x: m.x, y: m.y - 11, width: 11, height: 11}, 2)
	}
	p.text("muted", m.x+dot, m.y, m.mark.label)
}

func escape(text string) string {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // writing to a buffer cannot fail
	return escaped.String()
}
