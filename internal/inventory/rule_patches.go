package inventory

import (
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
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
		}
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
