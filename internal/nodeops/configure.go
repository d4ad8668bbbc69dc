package nodeops

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	machineconfig "github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"google.golang.org/grpc/codes"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// Patch changes the machine configuration that a node runs, without a reboot. The rest of the configuration stays as it is. isAsked reports whether
// the node was asked to apply the changed configuration; it is not asked if it already has it. ctx and api are those that [Ask] passes to its calls.
func Patch(ctx context.Context, api *client.Client, change func(*v1alpha1.Config)) (isAsked bool, err error) {
	running, err := RunningConfiguration(ctx, api)
	if err != nil {
		return false, err
	}
	former, wanted, err := patched(running, change)
	if err != nil || bytes.Equal(former, wanted) {
		return false, err
	}
	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{
		Data: wanted, Mode: machineapi.ApplyConfigurationRequest_NO_REBOOT,
	})
	return true, err
}

// Configure is [Patch] for a node. It returns when the node runs with the changed configuration, because a node accepts a configuration before it
// uses it. The error is one clause about the node, without its name.
func (h Health) Configure(ctx context.Context, node rolling.Node, change func(*v1alpha1.Config)) (isChanged bool, err error) {
	address := node.Address.String()
	if isChanged, err = h.patch(ctx, address, change); err != nil || !isChanged {
		return isChanged, err
	}
	return true, untilHolds(ctx, func(ctx context.Context) error {
		return h.ask(ctx, address, func(ctx context.Context, api *client.Client) error { return runsWith(ctx, api, change) })
	})
}

// cutTimeout is how long a call that is cut off is repeated, as in Talos' own rotate-ca (talos v1.12.0, pkg/rotate/pki/internal/helpers).
const cutTimeout = 10 * time.Second

// patch repeats calls that are cut off: with another CA, apid closes its connections (internal/app/apid/pkg/backend, Flush).
func (h Health) patch(ctx context.Context, address string, change func(*v1alpha1.Config)) (isChanged bool, err error) {
	limited, cancel := context.WithTimeout(ctx, cutTimeout)
	defer cancel()
	_ = poll.Until(limited, pollInterval, func(context.Context) (bool, error) { // the result of the last call is returned
		isCut := false
		err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) error {
			isAsked, err := Patch(ctx, api, change)
			isChanged = isChanged || isAsked
			code := client.StatusCode(err)
			isCut = code == codes.Unavailable || code == codes.Canceled
			return err
		})
		return !isCut, nil
	})
	return isChanged, err
}

func runsWith(ctx context.Context, api *client.Client, change func(*v1alpha1.Config)) error {
	running, err := RunningConfiguration(ctx, api)
	if err != nil {
		return err
	}
	former, wanted, err := patched(running, change)
	if err == nil && !bytes.Equal(former, wanted) {
		err = errors.New("it has not taken its new configuration yet")
	}
	return err
}

// patched returns the text of a configuration before and after a change. The documents beside the main one stay as they are.
func patched(running machineconfig.Provider, change func(*v1alpha1.Config)) (former, wanted []byte, err error) {
	same, err := running.PatchV1Alpha1(func(*v1alpha1.Config) error { return nil })
	if err != nil {
		return nil, nil, err
	}
	changed, err := running.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		change(c)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if former, err = same.Bytes(); err != nil {
		return nil, nil, err
	}
	wanted, err = changed.Bytes()
	return former, wanted, err
}

// RunningConfiguration returns the machine configuration that a node runs, which is secret. ctx and api are those that [Ask] passes to its calls.
func RunningConfiguration(ctx context.Context, api *client.Client) (machineconfig.Provider, error) {
	active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
	if err != nil {
		return nil, err
	}
	return active.Provider(), nil
}
