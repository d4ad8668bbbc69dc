package status

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/versions"
)

// Image is the image from which a node's Talos should be installed.
type Image struct {
	// Schematic is the ID of what the Image Factory builds it from; empty if the name of the image does not contain it, as for an image from
	// elsewhere.
	Schematic string `json:"schematic,omitempty"`
	// Installer is its reference.
	Installer string `json:"installer"`
}

// OtherImage is a node whose image has another schematic or release than the inventory's. The next run upgrades it. If the name of the inventory's
// image contains no schematic, only the release counts.
type OtherImage struct {
	// Node is its name.
	Node string `json:"node"`
	// Address of its Talos API.
	Address netip.Addr `json:"address"`
	// Runs is the ID of the schematic that Talos on it reports; empty for an image that does not come from an Image Factory.
	Runs string `json:"runs,omitempty"`
	// Talos is the release that it runs.
	Talos string `json:"talos"`
	// Wanted is the image of the inventory.
	Wanted Image `json:"wanted"`
}

// String returns a sentence that ends with what to do.
func (o OtherImage) String() string {
	runs, wants := schematicText(o.Runs), brief(o.Wanted.Schematic)
	switch wanted := o.Wanted.talos(); {
	case wanted == "" || o.Talos == "" || wanted == o.Talos:
	case o.Wanted.Schematic == "" || o.Runs == o.Wanted.Schematic:
		runs, wants = "Talos "+o.Talos, wanted
	default:
		runs, wants = "Talos "+o.Talos+" of "+runs, wanted+" of "+wants
	}
	remedy := "`em-infra up` upgrades it in place, drained, and when the cluster can do without it"
	if o.isNewer() {
		remedy = "Talos never goes back to an older version: set talos.version to " + o.Talos
	}
	return fmt.Sprintf("%s runs %s, the inventory's is %s: %s", o.Node, runs, wants, remedy)
}

// isNewer reports whether the node runs a newer release than the wanted one, as after an upgrade by hand.
func (o OtherImage) isNewer() bool {
	runs, err := versions.Parse(o.Talos)
	if err != nil {
		return false
	}
	wanted, err := versions.Parse(o.Wanted.talos())
	return err == nil && runs.Compare(wanted) > 0
}

// talos returns the release in an installer's reference, which is its tag; empty if the tag is not a release.
func (i Image) talos() string {
	release := versions.OfImage(i.Installer)
	if release.IsZero() {
		return ""
	}
	return release.String()
}

func schematicText(id string) string {
	if id == "" {
		return "an image without a schematic"
	}
	return "schematic " + brief(id)
}

// brief returns the beginning of an ID, enough to recognize it.
func brief(id string) string {
	const enough = 12
	return id[:min(enough, len(id))]
}

// otherImage compares the node's image with the inventory's. It returns nil if they are the same, or if the node did not answer.
func (m Machine) otherImage() *OtherImage {
	if m.Node == nil || m.Node.Talos == "" {
		return nil
	}
	wanted := nodeops.Release{Version: cmp.Or(m.Image.talos(), m.Node.Talos), Schematic: m.Image.Schematic}
	if m.Node.Release().Satisfies(wanted) {
		return nil
	}
	return &OtherImage{Node: m.Name, Address: m.Address, Runs: m.Node.Schematic, Talos: m.Node.Talos, Wanted: m.Image}
}

// imagePatience is the time limit for a node's answer about its image, because a person is waiting.
const imagePatience = 5 * time.Second

// OtherImages compares the images of these nodes with the inventory. unread contains a sentence for each node that does not answer.
func (s Sources) OtherImages(ctx context.Context, standing []string) (others []OtherImage, unread []string) {
	ctx, cancel := context.WithTimeout(ctx, imagePatience)
	defer cancel()
	var (
		machines []Machine
		indices  []int
	)
	for _, node := range s.Inventory.Nodes {
		if slices.Contains(standing, node.Name) {
			indices = append(indices, len(machines))
			machines = append(machines, Machine{Name: node.Name, Address: node.Address, Image: s.Images[node.Name]})
		}
	}
	problems := inParallel(indices, func(i int) error {
		seen, err := s.Health().Observe(ctx, machines[i].Address.String())
		if err != nil {
			return fmt.Errorf("%s: %w", machines[i].Name, err)
		}
		machines[i].Node = &seen
		return nil
	})
	for _, problem := range problems {
		unread = append(unread, problem.Error())
	}
	for _, machine := range machines {
		if other := machine.otherImage(); other != nil {
			others = append(others, *other)
		}
	}
	return others, unread
}
