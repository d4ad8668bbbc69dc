package nodeops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// AskEtcd is [Ask] for calls of the node's own etcd. Talos waits with such a call until etcd listens (talos v1.12.0, internal/pkg/etcd/etcd.go;
// go.etcd.io/etcd/client/v3 v3.6.6, options.go, defaultWaitForReady): so AskEtcd returns an error at once if etcd does not run, and distinguishes an
// etcd that stays silent from a silent node.
func AskEtcd(ctx context.Context, talosconfig []byte, address string, calls func(context.Context, *client.Client) error) error {
	return AskEtcdFor(ctx, callTimeout, talosconfig, address, calls)
}

// AskEtcdFor is [AskEtcd] for calls that take longer. limit is the longest time for all of them together.
func AskEtcdFor(ctx context.Context, limit time.Duration, talosconfig []byte, address string, calls func(context.Context, *client.Client) error) error {
	return AskFor(ctx, limit, talosconfig, address, func(ctx context.Context, api *client.Client) error { return callEtcd(ctx, api, calls) })
}

func callEtcd(ctx context.Context, api *client.Client, calls func(context.Context, *client.Client) error) error {
	state, err := etcdService(ctx, api)
	switch {
	case err != nil:
		return err
	case state != stateRunning:
		return fmt.Errorf("its etcd does not run (Talos: %s)", cmp.Or(state, "not listed yet"))
	}
	if err := calls(ctx, api); !isDeadline(err) {
		return err
	}
	return errors.New("its etcd does not answer")
}

func (h Health) askEtcd(ctx context.Context, address string, calls func(context.Context, *client.Client) error) error {
	return AskEtcd(ctx, h.Talosconfig, address, calls)
}

// etcdService returns the state of the node's etcd, one of talos v1.12.4, internal/app/machined/pkg/system/events. It is empty on a node
// that has just booted, which does not list the service yet.
func etcdService(ctx context.Context, api *client.Client) (state string, err error) {
	services, err := api.ServiceInfo(ctx, "etcd")
	for _, service := range services {
		state = service.Service.GetState()
	}
	return state, err
}

// etcdState reports whether the node's etcd runs. An etcd without a quorum runs; one that waits for its bootstrap does not. starts is the error for
// an etcd that does not run at the moment and has data, or may have. After a power cut, only this data distinguishes it from an etcd that waits for
// its bootstrap. A node that is about to reboot has stopped its etcd.
func etcdState(ctx context.Context, api *client.Client) (runs bool, starts, err error) {
	switch state, err := etcdService(ctx, api); {
	case err != nil:
		return false, nil, err
	case state == stateRunning:
		return true, nil, nil
	case state == "Skipped": // nothing more comes
		return false, nil, nil
	default:
		return false, etcdStarts(ctx, api), nil
	}
}

// startsError says that an etcd does not run yet and has data, or may have.
type startsError struct{ reason string }

func (e *startsError) Error() string { return e.reason }

// etcdStarts returns why an etcd that does not run yet may have members; nil for one that has never had any.
func etcdStarts(ctx context.Context, api *client.Client) error {
	has, err := HasEtcdData(ctx, api)
	switch {
	case err != nil:
		return &startsError{fmt.Sprintf("etcd does not run yet, and whether it has data is not known (%s)", answerOf(err))}
	case has:
		return &startsError{"etcd has data, and does not run yet"}
	default:
		return nil
	}
}

// HasEtcdData reports whether the data directory of etcd contains anything. Talos uses the same check to decide whether etcd was bootstrapped, and
// then refuses a bootstrap (talos v1.12.4, services/etcd.go, argsForControlPlane; v1alpha1_server.go, Bootstrap). It returns an error until EPHEMERAL
// is mounted, because the directory is missing until then.
func HasEtcdData(ctx context.Context, api *client.Client) (has bool, err error) {
	stream, err := api.LS(ctx, &machineapi.ListRequest{Root: constants.EtcdDataPath})
	if err != nil {
		return false, err
	}
	for {
		entry, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return has, nil
		case err != nil:
			return false, err
		case entry.GetError() != "":
			return false, errors.New(entry.GetError())
		}
		has = has || entry.GetRelativeName() != "."
	}
}
