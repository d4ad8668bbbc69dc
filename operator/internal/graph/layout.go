package graph

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Sizes in pixels. The fonts are monospaced: no common one is wider than 0.61 of its size, so a text always fits its box.
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

// box is a rectangle in the picture.
type box struct{ x, y, width, height int }

// placed is a host with its box and the boxes of its nodes.
type placed struct {
	host  Host
	box   box
	cards []box
}

// layout is the position of all parts.
type layout struct {
	width, height int
	hosts         []placed
}

func arrange(c Cluster) layout {
	l := layout{width: max(textWidth(c.Name, titleWidth), textWidth(c.subtitle(), charWidth), legendWidth()) + 2*margin}
	card := cardWidth(c)
	y := headerHeight + margin/2
	for row := range slices.Chunk(c.Hosts, hostsInRow) {
		placed, height := placeRow(row, card, y)
		l.hosts = append(l.hosts, placed...)
		last := placed[len(placed)-1].box
		l.width = max(l.width, last.x+last.width+margin)
		y += height + gap
	}
	l.height = y - gap + legendHeight + margin/2
	return l
}

// placeRow places hosts side by side and makes all as tall as the tallest.
func placeRow(hosts []Host, card, y int) (row []placed, height int) {
	x := margin
	for _, host := range hosts {
		p := place(host, card, x, y)
		row = append(row, p)
		x += p.box.width + gap
		height = max(height, p.box.height)
	}
	for i := range row {
		row[i].box.height = height
	}
	return row, height
}

// place arranges a host's cards in columns of equal length.
func place(host Host, cardWidth, x, y int) placed {
	columns := max(1, ceilDiv(len(host.Nodes), tallest))
	rows := max(1, ceilDiv(len(host.Nodes), columns))
	p := placed{host: host, box: box{
		x: x, y: y,
		width: max(2*padding+columns*(cardWidth+gap)-gap, textWidth(hostLabel(host), charWidth)+2*padding),
	}}
	tall := hostHeader
	for i, node := range host.Nodes {
		if i%rows == 0 {
			tall = hostHeader
		}
		card := box{x: x + padding + i/rows*(cardWidth+gap), y: y + tall, width: cardWidth, height: cardHeight(node)}
		p.cards = append(p.cards, card)
		tall += card.height + gap
		p.box.height = max(p.box.height, tall-gap+padding)
	}
	return p
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// cardWidth returns the width of all cards: the width of the widest one.
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

func cardHeight(n Node) int { return (len(n.lines())+1)*lineHeight + 2*padding - 4 }

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
