package nodeops

import (
	"context"
	"errors"
	"fmt"
	"io"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// etcdState reports whether the node answers and whether its etcd runs. An etcd without a quorum runs; one that waits for its
// bootstrap does not. The error is an etcd that does not run in this moment and has data, or may have: after a power cut it looks
// like one that waits for its bootstrap, apart from that data. The states are those of talos v1.12.4,
// internal/app/machined/pkg/system/events; a node that has just booted does not list the service yet, and one that is about to
// reboot has stopped it.
func etcdState(ctx context.Context, api *client.Client) (answers, runs bool, starts error) {
	services, err := api.ServiceInfo(ctx, "etcd")
	if err != nil {
		return false, false, nil
	}
	state := ""
	for _, service := range services {
		state = service.Service.GetState()
	}
	switch state {
	case stateRunning:
		return true, true, nil
	case "Failed", "Skipped": // nothing more comes
		return true, false, nil
	default:
		return true, false, etcdStarts(ctx, api)
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

// HasEtcdData reports whether the data directory of etcd has anything in it. Talos tells by the same look whether etcd was
// bootstrapped, and refuses a bootstrap (talos v1.12.4, services/etcd.go, argsForControlPlane; v1alpha1_server.go, Bootstrap). The directory is missing until EPHEMERAL is mounted, which is
// an error.
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
