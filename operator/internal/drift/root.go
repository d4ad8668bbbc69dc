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
// it is, because nothing of it has changed. The difference is empty for a container that is gone, which has its own.
func Root(inputs map[string]any, exists bool, config pve.GuestConfig) (have map[string]any, difference Difference) {
	if !exists {
		return Undone(), Difference{}
	}
	text := propertymap.Text(inputs, "create")
	at := strings.LastIndexByte(text, ' ')
	made, err := strconv.Atoi(text[at+1:])
	if err != nil {
		return nil, Difference{} // its result is noted as missing already
	}
	size, err := pve.RootGiB(config["rootfs"])
	if err != nil || size >= made {
		return nil, Difference{} // the Command itself says what to do about a root in another unit
	}
	gib := func(size int) string { return fmt.Sprintf("%d GiB", size) }
	return map[string]any{"create": text[:at+1] + strconv.Itoa(size)}, Difference{Property: "disk", Want: gib(made), Have: gib(size)}
}
