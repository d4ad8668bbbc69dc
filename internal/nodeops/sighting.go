package nodeops

import (
	"context"
	"crypto/tls"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// presence is who answers at the address of a node.
type presence int

const (
	silent      presence = iota // nobody, or somebody who says nothing that can be made out
	maintenance                 // Talos without a configuration
	foreign                     // Talos, or another server, under another PKI
	untimely                    // Talos with a certificate that is not valid now, or that takes ours for such
	member                      // Talos under the cluster's PKI
)

// sighting is what one look at a node shows.
type sighting struct {
	presence
	answer error     // what was said to a client of the cluster; nil for a member
	booted time.Time // when the system that is in maintenance mode came up, by its own clock; zero where it does not say
}

// look asks a node who it is.
func look(ctx context.Context, api *client.Client, address string) sighting {
	err := version(ctx, api, address)
	switch {
	case err == nil:
		return sighting{presence: member}
	case isUntimely(err):
		return sighting{presence: untimely, answer: err}
	case !isUnderAnotherPKI(err):
		return sighting{presence: silent, answer: err}
	}
	booted, denied := maintenanceSince(ctx, address)
	switch {
	case denied == nil:
		return sighting{presence: maintenance, answer: err, booted: booted}
	case isCutShort(denied):
		return sighting{presence: silent, answer: denied}
	default:
		return sighting{presence: foreign, answer: err}
	}
}

// isCutShort reports whether a call to a node in maintenance mode, or to one of another cluster, ended before either could show
// which it is: it was not reached any more, or is not ready. One of another cluster ends the TLS handshake, which gRPC reports with
// the same code, and another server speaks no gRPC (grpc-go, internal/transport/http2_client.go and http_util.go).
func isCutShort(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return !refusesUs.MatchString(err.Error())
	default:
		return false
	}
}

var refusesUs = regexp.MustCompile(`tls: |handshake failed|HTTP status code`)

// isUntimely reads the error's text as isUnderAnotherPKI does: the words of crypto/x509 for the node's certificate, and
// those of crypto/tls for the alert by which the node refuses ours.
func isUntimely(err error) bool {
	text := err.Error()
	return strings.Contains(text, "certificate has expired or is not yet valid") || strings.Contains(text, "tls: expired certificate")
}

// maintenanceSince is since when this boot of a node in maintenance mode is; zero where it does not say. The error is that of a node
// which is not in maintenance mode, as far as that can be told. Without a certificate
// everybody is a reader there, who sees the resources that are not sensitive (talos v1.12.4, internal/app/maintenance/server.go,
// Register, and internal/app/resources/access.go). Nothing that it says goes back behind its boot: while it installs, no API
// listens, and what an installer said is gone with the reboot (decision 35).
func maintenanceSince(ctx context.Context, address string) (booted time.Time, denied error) {
	found := false
	err := inMaintenance(ctx, address, func(ctx context.Context, api *client.Client) error {
		if _, err := api.Disks(ctx); err != nil {
			return err
		}
		found = true
		status, err := safe.StateGetByID[*runtime.MachineStatus](ctx, api.COSI, runtime.MachineStatusID)
		if err == nil {
			booted = status.Metadata().Created()
		}
		return err
	})
	if found {
		return booted, nil
	}
	return booted, err
}

// inMaintenance makes calls as the provider does when a node has no configuration (terraform-provider-talos v0.8.0,
// talosClientOp): only maintenance mode lists its disks for a client without a certificate. The calls have a time of their
// own, as that of ctx may be over.
func inMaintenance(ctx context.Context, address string, calls func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	api, err := client.New(ctx, client.WithEndpoints(address),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // nothing is told to the node, nor believed
	if err != nil {
		return err
	}
	return errors.Join(calls(client.WithNode(ctx, address), api), api.Close())
}
