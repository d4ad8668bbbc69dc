package components

import (
	"errors"
	"fmt"
	"net/netip"
)

// holders contains which argument has each name, VMID and address of a cluster, each of which may exist once only.
type holders struct {
	names     map[string]string
	vmids     map[int]string
	addresses map[netip.Addr]string
}

// newHolders returns the holders of what the templates have.
func newHolders(templates []*TalosTemplate) holders {
	h := holders{names: map[string]string{}, vmids: map[int]string{}, addresses: map[netip.Addr]string{}}
	for i, template := range templates {
		if template != nil {
			h.vmids[template.vmid] = fmt.Sprintf("Templates[%d]", i)
		}
	}
	return h
}

// add adds a machine. The errors name what a template or an earlier machine has already.
func (h holders) add(place string, m Machine) error {
	var problems []error
	if m.Name != "" {
		problems = append(problems, hold(h.names, m.Name, place, "Name"))
	}
	if m.VMID != 0 {
		problems = append(problems, hold(h.vmids, m.VMID, place, "VMID"))
	}
	for i, address := range m.Addresses {
		problems = append(problems, hold(h.addresses, address.Addr(), place, fmt.Sprintf("Addresses[%d]", i)))
	}
	return errors.Join(problems...)
}

func hold[Key comparable](holders map[Key]string, key Key, place, argument string) error {
	if holder, held := holders[key]; held {
		return require(false, place+"."+argument, fmt.Sprintf("%v is that of %s: choose another", key, holder))
	}
	holders[key] = place
	return nil
}
