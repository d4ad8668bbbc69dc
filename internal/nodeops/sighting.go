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

// presence is what answers at the address of a node.
type presence int

const (
	silent      presence = iota // no answer, or an answer that cannot be identified
	maintenance                 // Talos without a configuration
	foreign                     // Talos, or another server, under another PKI
	untimely                    // Talos with a certificate that is not valid now, or Talos that considers ours invalid now
	member                      // Talos under the cluster's PKI
)

// sighting is the result of one look at a node.
type sighting struct {
	presence
	answer error     // the error that a client of the cluster got; nil for a member
	booted time.Time // start of the boot in maintenance mode, by the node's clock; zero if unknown
}

// look identifies what answers at a node's address.
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

// isCutShort reports whether a call ended before it could distinguish a node in maintenance mode from a node of another
// cluster: the node was not reachable any more, or is not ready. A node of another cluster aborts the TLS handshake, which
// gRPC reports with the same code; a server other than Talos does not speak gRPC (grpc-go, internal/transport/http2_client.go
// and http_util.go).
func isCutShort(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return !refusesUs.MatchString(err.Error())
	default:
		return false
	}
}

var refusesUs = regexp.MustCompile(`tls: |handshake failed|HTTP status code`)

// isUntimely matches the text of the error, like isUnderAnotherPKI: crypto/x509 for the node's certificate, and crypto/tls
// for the alert with which the node rejects ours.
func isUntimely(err error) bool {
	text := err.Error()
	return strings.Contains(text, "certificate has expired or is not yet valid") || strings.Contains(text, "tls: expired certificate")
}

// maintenanceSince returns when a node in maintenance mode booted; zero if unknown. The error means that the node is not in
// maintenance mode, as far as that can be determined. A client without a certificate has the role reader there and sees the
// resources that are not sensitive (talos v1.12.4, internal/app/maintenance/server.go, Register, and
// internal/app/resources/access.go). Nothing there is older than the boot: during the installation no API listens, and the
// installer's messages are lost with the reboot (decision 35).
func maintenanceSince(ctx context.Context, address string) (booted time.Time, denied error) {
	found := false
	err := inMaintenance(ctx, address, func(ctx context.Context, api *client.Client) error {
		if _, err := api.Disks(ctx); err != nil {
			return err
		}
		found = true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout) // not only the time that the earlier calls have left
		defer cancel()
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

// inMaintenance runs calls as the provider does for a node without a configuration (terraform-provider-talos v0.8.0,
// talosClientOp): only maintenance mode lists its disks for a client without a certificate. The calls have their own timeout,
// because ctx may have ended.
func inMaintenance(ctx context.Context, address string, calls func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	api, err := client.New(ctx, client.WithEndpoints(address),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // nothing is revealed to the node, and its answers are not trusted
	if err != nil {
		return err
	}
	return errors.Join(calls(client.WithNode(ctx, address), api), api.Close())
}
