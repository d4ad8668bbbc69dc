package retention

import (
	"cmp"
	"errors"
	"os"
	"regexp"
	"strconv"
	"time"
)

// Name identifies a copy, as in 2026-11-20T22-15-00-before-up, or …-before-up-2 for the second one of that second.
type Name struct {
	// Taken is when, in UTC, to the second.
	Taken time.Time
	// Kind is what the copy belongs to.
	Kind string
	// Turn is the number among the copies of the same second and kind, from 1.
	Turn int
}

const timeFormat = "2006-01-02T15-04-05"

// form matches a name. Its time is first and in UTC, so that names sort by time.
var form = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([a-z-]*[a-z])(?:-(\d+))?$`)

// ErrNoName is returned for a text that is not the name of a copy.
var ErrNoName = errors.New("not the name of a copy")

// Parse returns the name in a text. The error is [ErrNoName], or that of a time that does not exist.
func Parse(text string) (Name, error) {
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return Name{}, ErrNoName
	}
	taken, err := time.Parse(timeFormat, parts[1])
	if err != nil {
		return Name{}, err
	}
	name := Name{Taken: taken, Kind: parts[2], Turn: 1}
	if parts[3] != "" {
		if name.Turn, err = strconv.Atoi(parts[3]); err != nil {
			return Name{}, ErrNoName
		}
	}
	if name.String() != text {
		return Name{}, ErrNoName // as in -02: String writes no leading zeros
	}
	return name, nil
}

// String returns the name as a text.
func (n Name) String() string {
	text := n.Taken.UTC().Format(timeFormat) + "-" + n.Kind
	if n.Turn > 1 {
		text += "-" + strconv.Itoa(n.Turn)
	}
	return text
}

// NewestFirst compares two names for sorting.
func NewestFirst(a, b Name) int {
	return cmp.Or(b.Taken.Compare(a.Taken), cmp.Compare(b.Turn, a.Turn))
}

// Create calls create with the name of a new copy, and with the next one while create returns [os.ErrExist]. It returns the name
// that was free.
func Create(at time.Time, kind string, create func(Name) error) (Name, error) {
	for name := (Name{Taken: at.UTC().Truncate(time.Second), Kind: kind, Turn: 1}); ; name.Turn++ {
		if err := create(name); !errors.Is(err, os.ErrExist) {
			return name, err
		}
	}
}
