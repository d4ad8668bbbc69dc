package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/terminal"
)

// CredentialKind is the kind of a credential.
type CredentialKind string

// The kinds of credentials, in the order in which those without an end are listed.
const (
	KindTalosconfig     CredentialKind = "talosconfig"
	KindKubeconfig      CredentialKind = "kubeconfig"
	KindProxmoxToken    CredentialKind = "Proxmox token"
	KindTalosCA         CredentialKind = "Talos CA"
	KindKubernetesCA    CredentialKind = "Kubernetes CA"
	KindEtcdCA          CredentialKind = "etcd CA"
	KindAggregatorCA    CredentialKind = "aggregator CA"
	KindAccountKey      CredentialKind = "service account key"
	KindEncryptionKey   CredentialKind = "encryption key"
	KindJoinTokens      CredentialKind = "join tokens"
	KindSecretsProvider CredentialKind = "state secrets"
	KindRecoveryKit     CredentialKind = "recovery kit"
	KindAgeRecipient    CredentialKind = "age recipient"
)

// Credential is something that opens the cluster, its host or its state.
type Credential struct {
	// Kind is what it opens.
	Kind CredentialKind `json:"kind"`
	// Name distinguishes it from others of its kind, such as the ID of a token; empty where there is one only.
	Name string `json:"name,omitempty"`
	// Made is when it began to be valid; absent if that is not known.
	Made *time.Time `json:"made,omitempty"`
	// Ends is when it is no longer valid; absent if it has no end, or if the end is unknown, see Problem.
	Ends *time.Time `json:"ends,omitempty"`
	// Problem is why its end is unknown, in a sentence; empty if it is known.
	Problem string `json:"problem,omitempty"`
	// Rotation is the command of em-infra that renews or replaces it, such as up; empty if none does.
	Rotation string `json:"rotation,omitempty"`
	// Due reports whether its end is so near that it should be rotated now.
	Due bool `json:"due,omitempty"`
}

// From these times before their end on credentials are due: the next up renews a client certificate, and another CA has to reach every
// node and every client.
const (
	tokenDue = renewalDays * 24 * time.Hour
	caDue    = 365 * 24 * time.Hour
)

// due reports whether a credential should be rotated now.
func (c Credential) due(now time.Time) bool {
	if c.Ends == nil {
		return false
	}
	before := tokenDue
	switch c.Kind {
	case KindTalosCA, KindKubernetesCA, KindEtcdCA, KindAggregatorCA:
		before = caDue
	}
	return c.Ends.Sub(now) < before
}

func (c Credential) title() string { return strings.TrimSpace(string(c.Kind) + " " + c.Name) }

// clientCredentials returns the client certificates of a report as credentials.
func (r Report) clientCredentials() []Credential {
	var found []Credential
	for _, certificate := range r.Certificates {
		found = append(found, Credential{
			Kind: CredentialKind(certificate.Name), Made: &certificate.Begins, Ends: &certificate.Ends, Rotation: "up",
		})
	}
	return found
}

// AskToken returns what Proxmox VE says about the token with which it is asked.
func AskToken(ctx context.Context, host pve.Reader, token string) Credential {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := Credential{Kind: KindProxmoxToken, Name: token, Rotation: "rotate proxmox-token"}
	end, err := host.TokenEnd(ctx, token)
	switch {
	case errors.Is(err, pve.ErrForbidden):
		found.Problem = "the token may not read its own end: give it Sys.Audit on /access/groups"
	case err != nil:
		found.Problem = "Proxmox VE does not say when the token ends (" + err.Error() + ")"
	case !end.IsZero():
		found.Ends = &end
	}
	return found
}

// WithCredentials returns the report with all credentials: those that it has itself, and others. Those that end first come first.
func (r Report) WithCredentials(others []Credential) Report {
	r.Credentials = append(r.clientCredentials(), others...)
	for i := range r.Credentials {
		r.Credentials[i].Due = r.Credentials[i].due(r.Time)
	}
	slices.SortStableFunc(r.Credentials, func(a, b Credential) int {
		if a.Ends == nil || b.Ends == nil {
			return cmp.Compare(endless(a), endless(b))
		}
		return a.Ends.Compare(*b.Ends)
	})
	return r
}

// endless is 0 for a credential with an end, and 1 for others.
func endless(c Credential) int {
	if c.Ends == nil {
		return 1
	}
	return 0
}

// credentialsTable lists the credentials, the next to be rotated first; empty if none were looked for.
func (r Report) credentialsTable(out io.Writer) terminal.Table {
	table := terminal.Table{Header: []string{"CREDENTIAL", "AGE", "ENDS", "ROTATED BY"}}
	for _, c := range r.Credentials {
		made, ends := "unknown", "never"
		if c.Made != nil {
			made = age(r.Time.Sub(*c.Made))
		}
		switch {
		case c.Problem != "":
			ends = "unknown"
		case c.Ends != nil:
			ends = toned(out, !c.Due, c.Ends.UTC().Format(time.DateOnly))
		}
		table.Rows = append(table.Rows, []string{c.title(), made, ends, cmp.Or(c.Rotation, "hand")})
	}
	return table
}

// remedy returns how a credential is rotated.
func (c Credential) remedy() string {
	if c.Rotation == "" {
		return "rotate it by hand, see docs/security.md"
	}
	return "`em-infra " + c.Rotation + "` rotates it"
}

// printCredentials prints what is to be rotated now, and what is not known.
func (r Report) printCredentials(out io.Writer) {
	for _, c := range r.Credentials {
		isClient := c.Kind == KindTalosconfig || c.Kind == KindKubeconfig // printed with the certificates
		switch {
		case c.Problem != "":
			fmt.Fprintf(out, "credential    %s: %s\n", c.title(), c.Problem)
		case c.Due && !isClient:
			fmt.Fprintf(out, "credential    %s ends on %s: %s\n", c.title(), c.Ends.UTC().Format(time.DateOnly), c.remedy())
		}
	}
}
