package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// PrivilegePlan contains the privileges that an API token needs and, with a host, the missing ones.
type PrivilegePlan struct {
	// Release is that of Proxmox VE which the privileges are for.
	Release string `json:"release"`
	// Token is the ID of the token.
	Token string `json:"token"`
	// Commands make user, role and token as root on the host.
	Commands []string `json:"commands"`
	// Host is what a host has of it, where one was asked.
	Host *RoleOnHost `json:"host,omitempty"`
}

// Err returns [ErrChanges] if the host lacks something.
func (p *PrivilegePlan) Err() error {
	if p.Host != nil && len(p.Host.Repairs) > 0 {
		return ErrChanges
	}
	return nil
}

// RoleOnHost compares the role and the token on a host with the required privileges.
type RoleOnHost struct {
	// Endpoint is the URL of the host.
	Endpoint string `json:"endpoint"`
	// RoleFound reports whether the role exists.
	RoleFound bool `json:"roleFound"`
	// MissingFromRole are the privileges that the role lacks.
	MissingFromRole []string `json:"missingFromRole"`
	// MissingFromToken are the privileges that the token lacks on /.
	MissingFromToken []string `json:"missingFromToken"`
	// Superfluous are the privileges of the role that nothing needs.
	Superfluous []string `json:"superfluous"`
	// Repairs give the token what it lacks, as root on the host.
	Repairs []string `json:"repairs"`
}

// Role compares the privileges of the stack's token with the required ones. It changes nothing.
func (o *Operator) Role(ctx context.Context) (*PrivilegePlan, error) {
	s, err := o.begin(ctx, needs{newStack: true})
	if err != nil {
		return nil, err
	}
	return CompareRole(ctx, s.host, guestagent.In(s.inventory.Cluster.Talos.Schematic.Extensions))
}

// PlanRole returns what a token needs, without reading a host.
func PlanRole(need role.Need, token role.Token) *PrivilegePlan {
	return &PrivilegePlan{Release: need.Release.String(), Token: token.String(), Commands: role.Commands(need, token)}
}

// CompareRole reads the role and the token's privileges from a host and compares them with what is needed, with or without a guest
// agent.
func CompareRole(ctx context.Context, host pve.Connection, guestAgent bool) (*PrivilegePlan, error) {
	token, err := role.ParseToken(host.Token)
	if err != nil {
		return nil, refused(err)
	}
	reader, err := pve.NewReader(host)
	if err != nil {
		return nil, refused(err)
	}
	version, err := reader.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("the version of Proxmox VE at %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	release, err := role.ParseRelease(version)
	if err != nil {
		return nil, err
	}
	standing := role.Standing{}
	standing.Role, standing.RoleFound, err = reader.RolePrivileges(ctx, role.Name)
	if err == nil {
		standing.Effective, err = reader.Privileges(ctx, "/")
	}
	if err != nil {
		return nil, fmt.Errorf("the permissions on %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	need := role.Need{Release: release, GuestAgent: guestAgent}
	plan := PlanRole(need, token)
	plan.Host = &RoleOnHost{
		Endpoint: host.Endpoint, RoleFound: standing.RoleFound, MissingFromRole: standing.MissingFromRole(need),
		MissingFromToken: standing.MissingFromToken(need), Superfluous: standing.SuperfluousInRole(need),
		Repairs: role.Repairs(need, token, standing),
	}
	return plan, nil
}
