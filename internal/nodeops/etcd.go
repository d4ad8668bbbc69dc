package nodeops

import (
	"context"
	"errors"
	"fmt"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
)

// Credentials are a cluster administrator's credentials for the Talos API, in base64 as in a talosconfig.
type Credentials struct {
	// CA of the cluster's Talos API.
	CA string
	// Certificate of the client.
	Certificate string
	// Key of the client.
	Key string
}

// Talosconfig returns the administrator's talosconfig with these endpoints. It is secret.
func (c Credentials) Talosconfig(endpoints ...string) ([]byte, error) {
	return c.config(endpoints).Bytes()
}

func (c Credentials) config(endpoints []string) *clientconfig.Config {
	return &clientconfig.Config{Context: "cluster", Contexts: map[string]*clientconfig.Context{"cluster": {
		Endpoints: endpoints, CA: c.CA, Crt: c.Certificate, Key: c.Key,
	}}}
}

// IsBootstrapped reports whether etcd of the node's cluster has members. A node that does not answer under the cluster's PKI
// counts as not bootstrapped. The error is the context's when it ends first, or states that the credentials are invalid,
// without quoting them.
func IsBootstrapped(ctx context.Context, credentials Credentials, address string) (bool, error) {
	api, err := client.New(ctx, client.WithConfig(credentials.config([]string{address})), client.WithEndpoints(address), client.WithGRPCDialOptions(untilRead(address)...))
	if err != nil {
		return false, errors.New("the credentials of the Talos API in the state cannot be read: restore the state from a backup")
	}
	defer api.Close()

	call, cancel := context.WithTimeout(client.WithNode(ctx, address), callTimeout)
	defer cancel()
	members, err := api.EtcdMemberList(call, &machineapi.EtcdMemberListRequest{})
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("ask etcd on %s for its members: %w", address, context.Cause(ctx))
	case err != nil:
		return false, nil //nolint:nilerr // no answer: nothing to adopt
	}
	for _, message := range members.GetMessages() {
		if len(message.GetMembers()) > 0 {
			return true, nil
		}
	}
	return false, nil
}
