package inventory

import (
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/versions"
)

// patches checks that Talos' own code reads each patch. A JSON patch cannot be applied to em-infra's configurations, which have
// more than one document.
func (c *checker) patches(patches []Patch, at *strictyaml.Path, report report) {
	for i, patch := range patches {
		if patch == "" {
			continue
		}
		loaded, err := configpatcher.LoadPatch([]byte(patch))
		if err != nil {
			report(at.Index(i), fault{
				What: "is no patch of a Talos configuration", Rule: shortened(err.Error()),
				Do: "compare it with the configuration reference of talos.version",
			})
			continue
		}
		if _, merge := loaded.(configpatcher.StrategicMergePatch); !merge {
			report(at.Index(i), fault{
				What: "is a JSON patch", Rule: "a configuration has several documents, which it cannot tell apart",
				Do: "write it as a strategic merge patch",
			})
			continue
		}
		c.installer(patch, at.Index(i), report)
	}
}

// installer checks that an installer image in a patch is of the inventory's release: each node is upgraded to that release and compared with it.
func (c *checker) installer(patch Patch, at *strictyaml.Path, report report) {
	image, err := machineconfig.InstallerIn([]string{string(patch)})
	talos := c.inv.Cluster.Talos.Version
	if err != nil || image == "" || talos.IsZero() {
		return
	}
	if release := versions.OfImage(image); release.IsZero() || release.Compare(talos.Version) != 0 {
		report(at, fault{
			What: "names an installer image of another release than talos.version", Rule: "each node is brought to that image, and is to run " + talos.String(),
			Got: image[strings.LastIndex(image, ":")+1:], Do: "give the image with the tag " + talos.String() + ", or remove machine.install.image: em-infra names that of talos.schematic",
		})
	}
}

// shortened returns a message of several lines as one line of limited length.
func shortened(message string) string {
	const enough = 200
	text := []rune(strings.Join(strings.Fields(message), " "))
	if len(text) > enough {
		return string(text[:enough]) + "…"
	}
	return string(text)
}
