package drift

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/pve"
)

// Root returns the properties of the Command that has grown the root of a container, by the inputs that the state has, if the container is gone or
// its root is smaller than the Command has made it. The engine creates such a container anew, with a small root, and would leave the Command as
// it is, because nothing of it has changed. The difference is empty for a container that is gone, which has its own. A root with a size in another
// unit cannot be compared, which is an error.
func Root(inputs map[string]any, exists bool, config pve.GuestConfig) (have map[string]any, difference Difference, err error) {
	if !exists {
		return Undone(), Difference{}, nil
	}
	text := propertymap.Text(inputs, "create")
	made := pve.GrownGiB(text)
	if made == 0 {
		return nil, Difference{}, nil // its result is noted as missing already
	}
	size, err := pve.RootGiB(config["rootfs"])
	if err != nil || size >= made {
		return nil, Difference{}, err
	}
	gib := func(size int) string { return fmt.Sprintf("%d GiB", size) }
	smaller := strings.TrimSuffix(text, strconv.Itoa(made)) + strconv.Itoa(size)
	return map[string]any{"create": smaller}, Difference{Property: "disk", Want: gib(made), Have: gib(size)}, nil
}
