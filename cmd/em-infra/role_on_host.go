package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// roleOnHost is what stands on a host.
type roleOnHost struct {
	// Endpoint is the URL of the host.
	Endpoint string `json:"endpoint"`
	// RoleFound says that the role is there.
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

// compareRole reads what stands at the end of a connection, for images with a guest agent or without.
func compareRole(ctx context.Context, host pve.Connection, guestAgent bool) (privilegePlan, error) {
	token, err := role.ParseToken(host.Token)
	if err != nil {
		return privilegePlan{}, refused(err)
	}
	reader, err := pve.NewReader(host)
	if err != nil {
		return privilegePlan{}, refused(err)
	}
	version, err := reader.Version(ctx)
	if err != nil {
		return privilegePlan{}, fmt.Errorf("the version of Proxmox VE at %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	release, err := role.ParseRelease(version)
	if err != nil {
		return privilegePlan{}, err
	}
	standing := role.Standing{}
	standing.Role, standing.RoleFound, err = reader.RolePrivileges(ctx, role.Name)
	if err == nil {
		standing.Effective, err = reader.Privileges(ctx, "/")
	}
	if err != nil {
		return privilegePlan{}, fmt.Errorf("the permissions on %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	need := role.Need{Release: release, GuestAgent: guestAgent}
	plan := planFor(need, token)
	plan.Host = &roleOnHost{
		Endpoint: host.Endpoint, RoleFound: standing.RoleFound, MissingFromRole: standing.MissingFromRole(need),
		MissingFromToken: standing.MissingFromToken(need), Superfluous: standing.SuperfluousInRole(need),
		Repairs: role.Repairs(need, token, standing),
	}
	return plan, nil
}

func (h *roleOnHost) print(out io.Writer, plan privilegePlan) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Proxmox VE %s at %s\n", plan.Release, h.Endpoint)
	switch {
	case !h.RoleFound:
		fmt.Fprintf(&text, "# there is no role %s\n", role.Name)
	case len(h.MissingFromRole) > 0:
		fmt.Fprintf(&text, "# role %s lacks %s\n", role.Name, strings.Join(h.MissingFromRole, ", "))
	default:
		fmt.Fprintf(&text, "# role %s has all that is needed\n", role.Name)
	}
	if len(h.Superfluous) > 0 {
		fmt.Fprintf(&text, "# role %s has more than is needed: %s\n", role.Name, strings.Join(h.Superfluous, ", "))
	}
	if len(h.MissingFromToken) > 0 {
		fmt.Fprintf(&text, "# token %s lacks on /: %s\n", plan.Token, strings.Join(h.MissingFromToken, ", "))
	} else {
		fmt.Fprintf(&text, "# token %s has all of it on /\n", plan.Token)
	}
	if len(h.Repairs) > 0 {
		fmt.Fprintf(&text, "# as root on the host:\n%s\n", strings.Join(h.Repairs, "\n"))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
