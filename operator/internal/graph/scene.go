package graph

// Drawn is what [SVG] draws: a [Cluster], [Systems], [Hosts] or a [Site].
type Drawn interface {
	// scene returns the picture in the terms of its layout.
	scene() scene
}

// scene is a picture before its parts have positions.
type scene struct {
	title  string // of the document, for readers who do not see it
	name   string
	about  string // one line about the whole
	bands  []band
	legend []mark
}

// band is a number of areas side by side.
type band struct {
	heading string // empty for none
	areas   []area
}

// area is a host, or a NAS. Its shelves stand one below the other.
type area struct {
	label   string
	shelves [][]group
}

// The shelves of a host.
const (
	shelfGuests = iota
	shelfEquipment
	shelves
)

// group is a number of cards that belong together. Without a label it has no frame.
type group struct {
	label string
	class string // of its frame
	cards []card
}

// card is a machine, or another thing with a name.
type card struct {
	name   string
	hint   string // after the name, for readers who do not see the colours; empty for none
	stripe string // class of the stripe at its edge; empty for none
	mark   string // class of the mark before its name; empty for none
	lines  []string
}

// part is what a stack has on a host: one group of it.
type part struct {
	host  string
	shelf int
	group group
}

// unframed returns parts without frames, since all of a picture are of one stack.
func unframed(parts []part) []part {
	for at := range parts {
		parts[at].group.label = ""
	}
	return parts
}

// areasOf returns the areas of parts, by host in the order of first mention.
func areasOf(parts []part) []area {
	var hosts []string
	byHost := map[string]*area{}
	for _, one := range parts {
		if byHost[one.host] == nil {
			hosts, byHost[one.host] = append(hosts, one.host), &area{label: hostLabel(one.host), shelves: make([][]group, shelves)}
		}
		if on := byHost[one.host]; len(one.group.cards) > 0 {
			on.shelves[one.shelf] = append(on.shelves[one.shelf], one.group)
		}
	}
	var areas []area
	for _, host := range hosts {
		areas = append(areas, *byHost[host])
	}
	return areas
}

func hostLabel(host string) string { return "host " + host }

// labelled completes a label by the name of a stack; empty for none.
func labelled(label, stack string) string {
	if stack == "" {
		return label
	}
	return label + " · " + stack
}

// mark is an entry of the legend.
type mark struct {
	label, class string
	round        bool
}

func roleMarks() []mark {
	var marks []mark
	for _, role := range roles {
		marks = append(marks, mark{label: role.label, class: role.class})
	}
	return marks
}

// healthMarks returns the marks of healths, with what the good and the bad one mean in this picture.
func healthMarks(good, bad string) []mark {
	var marks []mark
	for _, health := range healths {
		marks = append(marks, mark{label: health.label, class: health.class, round: true})
	}
	marks[Healthy].label, marks[Unhealthy].label = good, bad
	return marks
}
