package nodeops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Rollback returns a node to the release before its last upgrade, which is in the other slot of its disk. It returns the releases before and after,
// once the node answers in its next boot. The slots are exchanged: another Rollback goes forward again. Neither the machine configuration nor any
// data goes back. The lane then waits until the node works. The error is a sentence that ends with what to do; it is an [UntouchedError] if the node
// was not rebooted.
func (h Health) Rollback(ctx context.Context, node rolling.Node) (before, after Release, err error) {
	now, err := LookAt(ctx, h.Talosconfig, node.Address.String())
	if err != nil {
		return before, after, &UntouchedError{fmt.Errorf("%s is not rolled back, because what it runs is not known (%w): see that it runs and that its Talos API is reached, then try again", node.Name, err)}
	}
	err = h.order(ctx, node, now.Boot, func(ctx context.Context, api *client.Client) error { return api.Rollback(ctx) })
	if err != nil {
		return now.Release, after, &UntouchedError{notRolledBack(node, err)}
	}
	if err := h.awaitNextBoot(ctx, node, now.Boot); err != nil {
		return now.Release, after, err
	}
	next, err := LookAt(ctx, h.Talosconfig, node.Address.String())
	if err == nil && next.Release == now.Release {
		err = errors.New("it boots the same release again")
	}
	if err != nil {
		return now.Release, next.Release, fmt.Errorf("%s was told to go back to its former release, but %w: look at the console of its VM in Proxmox VE", node.Name, err)
	}
	return now.Release, next.Release, nil
}

// noFormerRelease are the texts with which the two bootloaders of Talos refuse a rollback: GRUB and systemd-boot (talos v1.12.4,
// v1alpha1/bootloader/grub/revert.go and sdboot/sdboot.go).
var noFormerRelease = []string{"label does not exist", "previous UKI not found"}

func notRolledBack(node rolling.Node, err error) error {
	for _, text := range noFormerRelease {
		if strings.Contains(err.Error(), text) {
			return fmt.Errorf("%s is not rolled back, because there is no other release on its disk: it was not upgraded since Talos was installed; set talos.version to bring another release to it, and run `em-infra up`", node.Name)
		}
	}
	if errors.Is(err, errAnswerLost) {
		return fmt.Errorf("%s is not rolled back (%w): a second rollback goes forward again, so see with `em-infra status` which release it runs before you try again", node.Name, err)
	}
	return fmt.Errorf("%s is not rolled back (%w): see that it runs and that its Talos API is reached, then try again", node.Name, err)
}
