package status

import (
	"errors"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
)

// named is how many guests a clause names; it counts the others.
const named = 3

// unread returns why the configurations of some guests are not known: a clause for each host that is off or does not answer, and one for all
// other guests.
func (f Found) unread(of func(pve.Guest) bool) (clauses []string) {
	var hosts []string
	silent, refused := map[string][]pve.Guest{}, []pve.Guest(nil)
	for _, guest := range f.Guests {
		switch err := f.Unread[guest.VMID]; {
		case err == nil || !of(guest):
		case !isSilence(err):
			refused = append(refused, guest)
		default:
			if silent[guest.Node] == nil {
				hosts = append(hosts, guest.Node)
			}
			silent[guest.Node] = append(silent[guest.Node], guest)
		}
	}
	for _, host := range hosts {
		clauses = append(clauses, f.silence(silent[host]))
	}
	if len(refused) > 0 {
		clauses = append(clauses, f.refusal(refused))
	}
	return clauses
}

// silence returns why the configurations of guests of one host are not known.
func (f Found) silence(guests []pve.Guest) string {
	first, off := guests[0], new(OffError)
	reason := f.Unread[first.VMID]
	switch {
	case len(guests) == 1:
		return f.refusal(guests)
	case errors.As(reason, &off):
		return fmt.Sprintf("the configurations of %d guests of %s are not known: it is %s", len(guests), first.Node, off.state())
	default:
		return fmt.Sprintf("the configurations of %d guests of %s are not known: it does not answer (%v)", len(guests), first.Node, reason)
	}
}

// refusal returns why the configurations of guests of any hosts are not known, each for a reason of its own.
func (f Found) refusal(guests []pve.Guest) string {
	var texts []string
	for _, guest := range guests[:min(named, len(guests))] {
		texts = append(texts, fmt.Sprintf("%s %d", guestTypes[guest.Type], guest.VMID))
	}
	reason := f.Unread[guests[0].VMID]
	switch more := len(guests) - len(texts); {
	case len(guests) == 1:
		return fmt.Sprintf("the configuration of %s is not known (%v)", texts[0], reason)
	case more > 0:
		return fmt.Sprintf("the configurations of %d guests, such as %s, are not known (the first: %v)", len(guests), strings.Join(texts, ", "), reason)
	default:
		return fmt.Sprintf("the configurations of %s are not known (the first: %v)", strings.Join(texts, ", "), reason)
	}
}
