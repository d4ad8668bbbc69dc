package risk

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/versions"
)

// Image is what a node's Talos is made from.
type Image struct {
	// Talos is its release; zero if it is not known.
	Talos versions.Version
	// Schematic is the ID of the Image Factory's schematic; empty for an image from elsewhere, whose name does not contain one.
	Schematic string
}

// parseImage reads the reference of an installer image. It is zero if the tag is no release.
func parseImage(reference string) Image {
	release, err := nodeops.ReleaseOf(reference)
	if err != nil {
		return Image{}
	}
	return Image{Talos: versions.OfImage(reference), Schematic: release.Schematic}
}

func (i Image) isKnown() bool { return !i.Talos.IsZero() }

// satisfies reports whether a node that runs the image needs no upgrade to the wanted one.
func (i Image) satisfies(wanted Image) bool { return i.release().Satisfies(wanted.release()) }

func (i Image) release() nodeops.Release {
	return nodeops.Release{Version: i.Talos.String(), Schematic: i.Schematic}
}

// change returns what differs between two images in words.
func (i Image) change(to Image) string {
	switch {
	case !i.isKnown() && to.Schematic == "":
		return fmt.Sprintf("to Talos %s, unless it runs that already", to.Talos)
	case !i.isKnown():
		return fmt.Sprintf("to Talos %s of schematic %s, unless it runs that already", to.Talos, brief(to.Schematic))
	case i.Talos.Compare(to.Talos) == 0:
		return fmt.Sprintf("Talos %s, schematic %s → %s", to.Talos, brief(i.Schematic), brief(to.Schematic))
	case to.Schematic != "" && i.Schematic != to.Schematic:
		return fmt.Sprintf("Talos %s → %s, schematic %s → %s", i.Talos, to.Talos, brief(i.Schematic), brief(to.Schematic))
	default:
		return fmt.Sprintf("Talos %s → %s", i.Talos, to.Talos)
	}
}

// brief returns the beginning of a schematic's ID, enough to recognize it.
func brief(id string) string {
	const enough = 12
	if id == "" {
		return "none"
	}
	return id[:min(enough, len(id))]
}
