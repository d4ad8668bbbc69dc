package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// nextBoot returns what the node runs in its next boot. It looks at the node itself, and uses the events only to report its phase.
func (n Node) nextBoot(ctx context.Context, before nodeops.Running, events *events) (nodeops.Running, error) {
	bounded, cancel := context.WithTimeout(ctx, n.Limits.Boot)
	defer cancel()
	var (
		after    nodeops.Running
		silent   error
		reported string
	)
	ended := poll.Until(bounded, n.Limits.Interval, func(context.Context) (bool, error) {
		if phase := events.phase(); phase != reported {
			reported = phase
			n.say("%s: %s", n.Name, phase)
		}
		if events.isLocked() {
			return false, errBusy
		}
		after, silent = n.look(ctx) // the limit ends the wait, not a look: a look that was cut off would report a silent node
		return silent == nil && after.Boot != before.Boot, nil
	})
	switch {
	case ended == nil:
		return after, nil
	case errors.Is(ended, errBusy):
		return after, fmt.Errorf("%s is untouched, because it is doing something else: look at its console in Proxmox VE, then run up again", n.Name)
	case ctx.Err() != nil:
		return after, fmt.Errorf("the upgrade of %s goes on without this run, which was ended (%w): run up again, which waits for it", n.Name, context.Cause(ctx))
	case silent == nil:
		return after, n.hangs(n.Limits.Boot)
	default:
		return after, fmt.Errorf("%s does not answer %s after the order to upgrade (%w): look at the console of its VM in Proxmox VE, and power-cycle the VM if it hangs; it boots the new release or the one before; then run up again", n.Name, poll.InWords(n.Limits.Boot), silent)
	}
}

// errBusy is returned when another sequence runs on the node.
var errBusy = errors.New("another sequence runs")

// hangs is the error of a node whose shutdown does not end, as with mounts of a storage that is gone (siderolabs/talos #12964,
// #13934).
func (n Node) hangs(after time.Duration) error {
	return fmt.Errorf("%s hangs in its shutdown, %s after the order to upgrade: power-cycle its VM in Proxmox VE (stop, then start); it boots the new release or the one before; then run up again", n.Name, poll.InWords(after))
}

// cameBackWith is the error of a node that rebooted into another release than the wanted one.
func (n Node) cameBackWith(release, wanted nodeops.Release, events *events) error {
	cause := "the first boot of the new release failed, and Talos went back to the slot before"
	if failure := events.failure(); failure != "" {
		cause = failure
	}
	return fmt.Errorf("%s was rolled back: it runs %s again instead of %s (%s): look at the console of its VM in Proxmox VE while you run up again, which tries once more, or take the change of the release back", n.Name, release, wanted, cause)
}
