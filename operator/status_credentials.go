package operator

import (
	"cmp"
	"context"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// listedCredentials are the credentials of a stack in its status.
type listedCredentials struct {
	cluster   clusterInState
	token     string // of Proxmox VE
	rehearsed bool
}

// list returns the credentials of the stack without the client certificates.
func (c listedCredentials) list(ctx context.Context, host pve.Reader, copies status.Copies) ([]status.Credential, error) {
	var found []status.Credential
	if token, err := role.ParseToken(c.token); err == nil { // a bad one is reported where the host is asked
		asked := status.AskToken(ctx, host, token.String())
		if c.rehearsed {
			asked.Rotation = "lab start" // which makes another one
		}
		found = append(found, asked)
	}
	authorities, err := c.authorities(ctx)
	found = append(found, authorities...)
	provider := status.Credential{Kind: status.KindSecretsProvider, Name: cmp.Or(c.cluster.state.SecretsProvider, "passphrase")}
	if c.cluster.state.SealedByPassphrase() {
		provider.Rotation = "rotate passphrase"
	}
	found = append(found, provider)
	if kit := copies.Kit; kit != nil {
		found = append(found, status.Credential{Kind: status.KindRecoveryKit, Name: kit.Name, Made: &kit.Taken, Rotation: "kit create"})
	}
	for _, recipient := range c.cluster.inventory.Cluster.Backups.Recipients {
		found = append(found, status.Credential{Kind: status.KindAgeRecipient, Name: recipient.String()})
	}
	return found, err
}

// caRotations are the commands that replace CAs, by the names of the CAs. The others cannot be replaced without an outage.
var caRotations = map[string]string{"Talos": "rotate talos-ca", "Kubernetes": "rotate kubernetes-ca"}

// authorities returns the CAs and the keys in the state; none if the cluster was never brought up.
func (c listedCredentials) authorities(ctx context.Context) ([]status.Credential, error) {
	exported, err := c.cluster.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	properties, err := state.MachineSecretsText(exported.Deployment)
	if err != nil || properties == nil {
		return nil, err
	}
	bundle, err := machinesecrets.FromState(properties)
	if err != nil {
		return nil, err
	}
	authorities, err := bundle.Authorities()
	var found []status.Credential
	for _, one := range authorities {
		found = append(found, status.Credential{
			Kind: status.CredentialKind(one.Name + " CA"), Made: &one.Valid.From, Ends: &one.Valid.Until, Rotation: caRotations[one.Name],
		})
	}
	return append(found, keysOf(bundle)...), err
}

// keysOf returns the keys and tokens among the machine secrets, without dates: nothing records since when they are valid.
func keysOf(bundle machinesecrets.Bundle) []status.Credential {
	encryption := status.Credential{Kind: status.KindEncryptionKey, Name: "secretbox"} // which Talos cannot replace
	if bundle.SealsWithAESCBC() {
		encryption.Name, encryption.Rotation = "aescbc", "rotate encryption-key"
	}
	return []status.Credential{
		{Kind: status.KindAccountKey, Rotation: "rotate service-account-key"}, encryption,
		{Kind: status.KindJoinTokens, Rotation: "rotate join-tokens"},
	}
}
