package graph

import (
	"math"
	"unicode/utf8"
)

// Measures in pixels. The fonts are monospaced: no common one is wider than 0.61 of its size, so a text always fits the box
// that is made for it.
const (
	fontSize     = 13
	charWidth    = 8
	lineHeight   = 19
	titleSize    = 20
	titleWidth   = 12.5
	margin       = 24
	gap          = 16
	padding      = 14
	dot          = 18 // the health mark and the space after it
	stripe       = 6  // the role's colour at a card's edge
	headerHeight = 74
	hostHeader   = 34
	legendHeight = 40
	tallest      = 6 // cards in a column of a host
	hostsInRow   = 4
)

// box is a place in the picture.
type box struct{ x, y, width, height int }

// placed is a host with its place, and those of its nodes.
type placed struct {
	host  Host
	box   box
	cards []box
}

// layout is where everything stands.
type layout struct {
	width, height int
	hosts         []placed
}

func arrange(c Cluster) layout {
	l := layout{width: max(textWidth(c.Name, titleWidth), textWidth(c.subtitle(), charWidth), legendWidth()) + 2*margin}
	card := cardWidth(c)
	x, y, rowHeight := margin, headerHeight+margin/2, 0
	for i, host := range c.Hosts {
		if i > 0 && i%hostsInRow == 0 {
			x, y, rowHeight = margin, y+rowHeight+gap, 0
		}
		p := place(host, card, x, y)
		l.hosts = append(l.hosts, p)
		x += p.box.width + gap
		rowHeight = max(rowHeight, p.box.height)
		l.width = max(l.width, p.box.x+p.box.width+margin)
	}
	l.height = y + rowHeight + legendHeight + margin/2
	return l
}

// place stands a host's cards in columns of equal height.
func place(host Host, cardWidth, x, y int) placed {
	card := box{width: cardWidth, height: cardHeight(host)}
	columns := max(1, int(math.Ceil(float64(len(host.Nodes))/tallest)))
	rows := int(math.Ceil(float64(len(host.Nodes)) / float64(columns)))
	p := placed{host: host, box: box{
		x: x, y: y,
		width:  max(2*padding+columns*(card.width+gap)-gap, textWidth(hostLabel(host), charWidth)+2*padding),
		height: hostHeader + rows*(card.height+gap) - gap + padding,
	}}
	for i := range host.Nodes {
		p.cards = append(p.cards, box{
			x: x + padding + i/rows*(card.width+gap), y: y + hostHeader + i%rows*(card.height+gap), width: card.width, height: card.height,
		})
	}
	return p
}

// cardWidth is that of the widest card: all are alike.
func cardWidth(c Cluster) int {
	width := 0
	for _, host := range c.Hosts {
		for _, node := range host.Nodes {
			width = max(width, textWidth(node.Name, charWidth)+dot)
			for _, line := range node.lines() {
				width = max(width, textWidth(line, charWidth))
			}
		}
	}
	return stripe + width + 2*padding
}

// cardHeight is that of the tallest card on a host: those on one host are alike.
func cardHeight(h Host) int {
	lines := 0
	for _, node := range h.Nodes {
		lines = max(lines, len(node.lines()))
	}
	return (lines+1)*lineHeight + 2*padding - 4
}

func textWidth(text string, char float64) int {
	return int(math.Ceil(float64(utf8.RuneCountInString(text)) * char))
}

func hostLabel(h Host) string { return "host " + h.Name }

func legendWidth() int {
	width := 0
	for _, entry := range legend() {
		width += dot + textWidth(entry.label, charWidth) + gap
	}
	return width
}
