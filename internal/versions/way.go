package versions

import (
	"fmt"
	"strings"
)

// Stop is one step of a way: a key of the inventory and the version to write there.
type Stop struct {
	// Key is talos.version or kubernetes.version.
	Key string `json:"key"`
	// Version to write.
	Version Version `json:"version"`
}

// Keys of the inventory that a stop changes.
const (
	KeyTalos      = "talos.version"
	KeyKubernetes = "kubernetes.version"
)

// Path is the way from one state to another, one up for each stop.
type Path []Stop

// String returns talos.version v1.12.11 → kubernetes.version v1.36.3.
func (p Path) String() string {
	var words []string
	for _, stop := range p {
		words = append(words, stop.Key+" "+stop.Version.String())
	}
	return strings.Join(words, " → ")
}

// Way returns the steps from what runs to what is wanted: to the latest patch release of each minor release of Talos, at each Kubernetes as far as
// that Talos supports it, then to the next minor. It is empty if both are the same. An error means that no way leads there: it is a downgrade, or the
// two do not go together. Without a Kubernetes on both sides, it returns the way of Talos alone.
func Way(from, to State) (Path, error) {
	var way Path
	for here := from; here.Talos.Compare(to.Talos) != 0 || here.Kubernetes.Compare(to.Kubernetes) != 0; {
		stop, found := here.next(to)
		if !found {
			return nil, fmt.Errorf("no way leads from %s to %s: choose versions that are newer and go together", from.inWords(), to.inWords())
		}
		way = append(way, stop)
		if stop.Key == KeyTalos {
			here.Talos = stop.Version
		} else {
			here.Kubernetes = stop.Version
		}
	}
	return way, nil
}

// inWords returns Talos v1.12.4 with Kubernetes v1.35.4, or Talos v1.12.4 if that is all that is known.
func (s State) inWords() string {
	if s.Kubernetes.IsZero() {
		return "Talos " + s.Talos.String()
	}
	return "Talos " + s.Talos.String() + " with Kubernetes " + s.Kubernetes.String()
}

// next returns the first step of the way.
func (s State) next(to State) (Stop, bool) {
	if patch, found := s.nextPatch(to); found {
		return Stop{KeyTalos, patch}, true
	}
	if kubernetes, found := s.nextKubernetes(to); found {
		return Stop{KeyKubernetes, kubernetes}, true
	}
	if minor, found := s.nextMinor(to); found {
		return Stop{KeyTalos, minor}, true
	}
	return Stop{}, false
}

// nextPatch returns the Talos to change to within its minor release: the wanted one, or the latest before the next minor.
func (s State) nextPatch(to State) (Version, bool) {
	if s.Talos.Minor() == to.Talos.Minor() {
		return to.Talos, s.Talos.Compare(to.Talos) < 0
	}
	latest, known := Latest(s.Talos.Minor())
	return latest, known && s.Talos.Compare(latest) < 0 && s.Talos.Minor().Compare(to.Talos.Minor()) < 0
}

// nextKubernetes returns the Kubernetes to change to, if the Talos supports it.
func (s State) nextKubernetes(to State) (Version, bool) {
	if s.Kubernetes.Compare(to.Kubernetes) >= 0 {
		return Version{}, false
	}
	next := to.Kubernetes
	if after := s.Kubernetes.Minor().Next(); after.Compare(to.Kubernetes.Minor()) < 0 {
		next = newestKubernetes(after)
	}
	return next, Kubernetes(s.Talos.Minor()).Holds(next.Minor())
}

// nextMinor returns the Talos to change to in the next minor release, if it supports the Kubernetes, where that is known.
func (s State) nextMinor(to State) (Version, bool) {
	minor := s.Talos.Minor().Next()
	if minor.Compare(to.Talos.Minor()) > 0 || !s.Kubernetes.IsZero() && !Kubernetes(minor).Holds(s.Kubernetes.Minor()) {
		return Version{}, false
	}
	if minor == to.Talos.Minor() {
		return to.Talos, true
	}
	return Latest(minor)
}

// newestKubernetes returns the newest known patch release of a minor release of Kubernetes, or its first.
func newestKubernetes(minor Minor) Version {
	for _, known := range releases {
		if known.kubernetes.Minor() == minor {
			return known.kubernetes
		}
	}
	return minor.first()
}

// Newest returns the newest known Talos with its default Kubernetes.
func Newest() State {
	last := releases[len(releases)-1]
	return State{Talos: last.latest, Kubernetes: last.kubernetes}
}
