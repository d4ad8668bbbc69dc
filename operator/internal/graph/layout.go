package graph

import (
	"math"
	"unicode/utf8"
)

// Sizes in pixels. The fonts are monospaced: no common one is wider than 0.61 of its size, so a text always fits its box.
const (
	fontSize      = 13
	charWidth     = 8
	lineHeight    = 19
	titleSize     = 20
	titleWidth    = 12.5
	margin        = 24
	gap           = 16
	padding       = 14
	dot           = 18 // the health mark and the space after it
	stripe        = 6  // the role's colour at a card's edge
	headerHeight  = 74
	headingHeight = 28
	hostHeader    = 34
	frameHeader   = 30
	framePadding  = 10
	legendHeight  = 40
	tallest       = 6 // cards in a column, unless there are more than fit into mostColumns
	mostColumns   = 8
	hostsInRow    = 4
	widest        = 2000 // where a row of hosts ends, if it has more than one
	shelfWidth    = 1000 // where a row of groups in a host ends, if it has more than one
	legendWidth   = 720  // where a row of the legend ends at the earliest
)

// box is a rectangle in the picture.
type box struct{ x, y, width, height int }

func (b box) right() int  { return b.x + b.width }
func (b box) bottom() int { return b.y + b.height }

// placed is a host, or a NAS, with its box and its groups.
type placed struct {
	area   area
	box    box
	groups []placedGroup
}

// placedGroup is a group with its box and the boxes of its cards.
type placedGroup struct {
	group group
	box   box
	cards []box
}

// placedMark is an entry of the legend with the beginning of its base line.
type placedMark struct {
	mark mark
	x, y int
}

// placedBand is a band with the base line of its heading.
type placedBand struct {
	heading string
	y       int
	areas   []placed
}

// layout is the position of all parts.
type layout struct {
	width, height int
	bands         []placedBand
	legend        []placedMark
}

func arrange(s scene) layout {
	l := layout{width: max(textWidth(s.name, titleWidth), textWidth(s.about, charWidth), min(lengthOf(s.legend), legendWidth)) + 2*margin}
	widths := cardWidths(s)
	y := headerHeight + margin/2
	for _, band := range s.bands {
		p := placedBand{heading: band.heading, y: y + fontSize}
		if band.heading != "" {
			l.width = max(l.width, textWidth(band.heading, charWidth)+2*margin)
			y += headingHeight
		}
		p.areas = placeBand(band.areas, widths, y)
		for _, one := range p.areas {
			l.width, y = max(l.width, one.box.right()+margin), max(y, one.box.bottom()+gap)
		}
		l.bands = append(l.bands, p)
	}
	l.placeLegend(s.legend, y-gap+legendHeight/2+margin/2)
	return l
}

// placeLegend places the legend from a base line on, and ends the picture below it.
func (l *layout) placeLegend(legend []mark, y int) {
	x := margin
	for _, m := range legend {
		width := markWidth(m)
		if x > margin && x+width > l.width {
			x, y = margin, y+lineHeight
		}
		l.legend = append(l.legend, placedMark{m, x, y})
		x += width
	}
	l.height = y + legendHeight/2
	if len(legend) == 0 {
		l.height = y - legendHeight/2 + margin/2
	}
}

// placeBand places hosts side by side, in as many rows as they need, and makes all of a row as tall as the tallest.
func placeBand(areas []area, widths [shelves]int, y int) []placed {
	var all []placed
	first := 0 // of the row
	for _, one := range areas {
		x := margin
		if len(all) > first {
			x = all[len(all)-1].box.right() + gap
		}
		p := place(one, widths, x, y)
		if inRow := len(all) - first; inRow == hostsInRow || inRow > 0 && p.box.right() > widest {
			y = stretch(all[first:]) + gap
			first, p = len(all), place(one, widths, margin, y)
		}
		all = append(all, p)
	}
	stretch(all[first:])
	return all
}

// stretch makes all of a row as tall as the tallest, and returns where it ends.
func stretch(row []placed) (bottom int) {
	for _, one := range row {
		bottom = max(bottom, one.box.bottom())
	}
	for at := range row {
		row[at].box.height = bottom - row[at].box.y
	}
	return bottom
}

// place arranges the groups of a host: each shelf below the one before it.
func place(one area, widths [shelves]int, x, y int) placed {
	p := placed{area: one, box: box{x: x, y: y, width: textWidth(one.label, charWidth) + 2*padding, height: hostHeader + padding}}
	top := y + hostHeader
	for at, shelf := range one.shelves {
		groups := placeShelf(shelf, widths[at], x+padding, top)
		for _, g := range groups {
			p.box.width = max(p.box.width, g.box.right()+padding-x)
			top = max(top, g.box.bottom()+gap)
			p.box.height = top - gap + padding - y
		}
		p.groups = append(p.groups, groups...)
	}
	return p
}

// placeShelf places groups side by side, in as many rows as they need, and makes all of a row as tall as the tallest.
func placeShelf(shelf []group, cardWidth, x, y int) []placedGroup {
	var all []placedGroup
	first, left := 0, x // of the row
	for _, one := range shelf {
		if len(all) > first {
			x = all[len(all)-1].box.right() + gap
		}
		g := placeGroup(one, cardWidth, x, y)
		if len(all) > first && g.box.right()-left > shelfWidth {
			x, y = left, stretchGroups(all[first:])+gap
			first, g = len(all), placeGroup(one, cardWidth, x, y)
		}
		all = append(all, g)
	}
	stretchGroups(all[first:])
	return all
}

// stretchGroups makes all groups of a row as tall as the tallest, and returns where it ends.
func stretchGroups(row []placedGroup) (bottom int) {
	for _, one := range row {
		bottom = max(bottom, one.box.bottom())
	}
	for at := range row {
		row[at].box.height = bottom - row[at].box.y
	}
	return bottom
}

// placeGroup arranges the cards of a group in columns of equal length.
func placeGroup(one group, cardWidth, x, y int) placedGroup {
	edge, header := 0, 0
	if one.label != "" {
		edge, header = framePadding, frameHeader
	}
	columns := min(mostColumns, max(1, ceilDiv(len(one.cards), tallest)))
	rows := max(1, ceilDiv(len(one.cards), columns))
	columns = max(1, ceilDiv(len(one.cards), rows))
	g := placedGroup{group: one, box: box{
		x: x, y: y, width: max(2*edge+columns*(cardWidth+gap)-gap, textWidth(one.label, charWidth)+2*edge), height: header + edge,
	}}
	top := y + header
	for i, c := range one.cards {
		if i%rows == 0 {
			top = y + header
		}
		placed := box{x: x + edge + i/rows*(cardWidth+gap), y: top, width: cardWidth, height: cardHeight(c)}
		g.cards = append(g.cards, placed)
		top = placed.bottom() + gap
		g.box.height = max(g.box.height, placed.bottom()+edge-y)
	}
	return g
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// cardWidths returns the width of all cards of each shelf: the width of the widest one.
func cardWidths(s scene) [shelves]int {
	var widths [shelves]int
	for _, band := range s.bands {
		for _, area := range band.areas {
			for at, shelf := range area.shelves {
				for _, group := range shelf {
					widths[at] = max(widths[at], widestCard(group.cards))
				}
			}
		}
	}
	return widths
}

func widestCard(cards []card) int {
	width := 0
	for _, c := range cards {
		name := textWidth(c.name, charWidth)
		if c.mark != "" {
			name += dot
		}
		width = max(width, name)
		for _, line := range c.lines {
			width = max(width, textWidth(line, charWidth))
		}
	}
	return stripe + width + 2*padding
}

func cardHeight(c card) int { return (len(c.lines)+1)*lineHeight + 2*padding - 4 }

func textWidth(text string, char float64) int {
	return int(math.Ceil(float64(utf8.RuneCountInString(text)) * char))
}

func markWidth(m mark) int { return dot + textWidth(m.label, charWidth) + gap }

func lengthOf(legend []mark) int {
	width := 0
	for _, m := range legend {
		width += markWidth(m)
	}
	return width
}
