// Package nodeops are operations on the nodes of a running cluster, through the Talos API.
package nodeops

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	pollInterval = time.Second
	callTimeout  = 5 * time.Second
)

// WaitUntilSecure returns when the node's Talos API answers under the PKI of talosconfig: the configuration is applied,
// Talos is installed and the machine is back from its reboot. It returns an error with the last cause when ctx ends.
func WaitUntilSecure(ctx context.Context, talosconfig []byte, address string) error {
	config, err := clientconfig.FromBytes(talosconfig)
	if err != nil {
		return fmt.Errorf("talosconfig: %w", err)
	}
	api, err := client.New(ctx, client.WithConfig(config), client.WithEndpoints(address))
	if err != nil {
		return fmt.Errorf("talosconfig: %w", err)
	}
	defer api.Close() //nolint:errcheck // nothing is written through it

	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		if err := version(ctx, api, address); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return notSecure(address, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}

func version(ctx context.Context, api *client.Client, address string) error {
	ctx, cancel := context.WithTimeout(client.WithNode(ctx, address), callTimeout)
	defer cancel()
	_, err := api.Version(ctx)
	return err
}

// notSecure says what the last answer means and what to do.
func notSecure(address string, ended, last error) error {
	if last == nil {
		last = ended
	}
	remedy := "look at the console of its VM in Proxmox VE, then run up again; it goes on from here"
	if belongsToAnother(last) {
		remedy = "the disk of its VM holds a node of another cluster (F7): delete that VM, then run up again"
	}
	return fmt.Errorf("node %s: its Talos API does not answer under this cluster's PKI (last answer: %s): %s", address, describe(last), remedy)
}

func belongsToAnother(err error) bool {
	var unknown x509.UnknownAuthorityError
	// gRPC hands the handshake's error on as text only.
	return errors.As(err, &unknown) || strings.Contains(err.Error(), "certificate signed by unknown authority")
}

func describe(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return "none"
	}
	return status.Convert(err).Message()
}
