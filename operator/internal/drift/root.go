package drift

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/pve"
)

// Root checks the result of the Command that grows the root of a container; inputs are the Command's inputs in the state. If the container is gone,
// or its root is smaller than the Command has made it, have are the properties with which the Command runs again. The engine creates a container
// that is gone anew, with a small root, and would otherwise leave the Command as it is, because nothing of it has changed. The difference is empty
// for a container that is gone, since that is a difference of its own. A root with a size in another unit cannot be compared, which is an error.
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
