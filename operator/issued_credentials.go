package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/role"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
)

// TalosRoles are the roles of the Talos API that a talosconfig can have, from the least to the most.
var TalosRoles = []string{string(role.EtcdBackup), string(role.Reader), string(role.Operator), string(role.Admin)}

// TalosconfigOptions are the options of [Operator.IssueTalosconfig].
type TalosconfigOptions struct {
	// Role is one of [TalosRoles]. Required.
	Role string
	// TTL is how long the certificate is valid, at least a minute. Required.
	TTL time.Duration
}

// Check refuses a role or a lifetime that cannot be had.
func (t TalosconfigOptions) Check() error {
	if !slices.Contains(TalosRoles, t.Role) {
		return refused(fmt.Errorf("--role: %q is no role of the Talos API: choose one of %s", t.Role, strings.Join(TalosRoles, ", ")))
	}
	return refused(checkTTL(t.TTL))
}

// KubeconfigOptions are the options of [Operator.IssueKubeconfig].
type KubeconfigOptions struct {
	// User is the name of the user, as RoleBindings and the audit log of Kubernetes have it. Required.
	User string
	// Groups of the user, for example those of RoleBindings. Default: none.
	Groups []string
	// TTL is how long the certificate is valid, at least a minute. Required.
	TTL time.Duration
}

// Check refuses a user, a group or a lifetime that cannot be had.
func (k KubeconfigOptions) Check() error {
	switch {
	case k.User == "":
		return refused(errors.New("no user is named: add --user NAME, the name in the RoleBindings of Kubernetes"))
	case strings.HasPrefix(k.User, reservedForKubernetes):
		return refused(fmt.Errorf("--user: %q begins with %s, which Kubernetes uses for its own users: choose another name", k.User, reservedForKubernetes))
	case slices.Contains(k.Groups, ""):
		return refused(errors.New("--group: a group has an empty name: name it, or leave the flag out"))
	}
	return refused(checkTTL(k.TTL))
}

// reservedForKubernetes is the prefix of Kubernetes' own users, for example of nodes (kubernetes.io, Authenticating, "User and group
// names").
const reservedForKubernetes = "system:"

func checkTTL(ttl time.Duration) error {
	if ttl < time.Minute {
		return fmt.Errorf("--ttl: a certificate is valid for 1m or longer (got %s): give a longer time, as in 8h", ttl)
	}
	return nil
}

// IssuedCredentials are credentials with a new client certificate, which only another CA can revoke before its end.
type IssuedCredentials struct {
	// Name of the file, for example talosconfig-os-reader.
	Name string
	// Ends is when the certificate ends.
	Ends time.Time
	// Text of the file, secret.
	Text []byte
}

// allowedSkew is how much the clock of a node may be behind, as Talos has it for a kubeconfig (talos v1.12.0,
// pkg/kubeconfig/generate.go).
const allowedSkew = 10 * time.Second

// IssueTalosconfig returns a talosconfig for all control planes whose client certificate is signed with the machine secrets in the
// state. It changes nothing and asks neither host nor nodes.
func (o *Operator) IssueTalosconfig(ctx context.Context, options TalosconfigOptions) (*IssuedCredentials, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	return o.issue(ctx, "talosconfig-"+inFileName(options.Role), options.TTL, func(s *session, bundle machinesecrets.Bundle, valid machinesecrets.Lifetime) ([]byte, error) {
		return bundle.Talosconfig(s.inventory.Cluster.Name, role.Role(options.Role), valid, controlPlaneAddresses(s.inventory))
	})
}

// IssueKubeconfig returns a kubeconfig whose client certificate is signed with the machine secrets in the state. It changes nothing and
// asks neither host nor nodes.
func (o *Operator) IssueKubeconfig(ctx context.Context, options KubeconfigOptions) (*IssuedCredentials, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	user := machinesecrets.KubernetesUser{Name: options.User, Groups: options.Groups}
	return o.issue(ctx, "kubeconfig-"+inFileName(options.User), options.TTL, func(s *session, bundle machinesecrets.Bundle, valid machinesecrets.Lifetime) ([]byte, error) {
		return bundle.Kubeconfig(s.inventory.Cluster.Name, user, valid, s.inventory.Cluster.EndpointURL().String())
	})
}

type issuer func(*session, machinesecrets.Bundle, machinesecrets.Lifetime) ([]byte, error)

func (o *Operator) issue(ctx context.Context, name string, ttl time.Duration, make issuer) (*IssuedCredentials, error) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	bundle, err := s.inState().machineSecrets(ctx)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	valid := machinesecrets.Lifetime{From: now.Add(-allowedSkew), Until: now.Add(ttl)}
	text, err := make(s, bundle, valid)
	if late := new(machinesecrets.LifetimeError); errors.As(err, &late) {
		return nil, refused(fmt.Errorf("--ttl: %w: give a shorter time", late))
	}
	if err != nil {
		return nil, err
	}
	return &IssuedCredentials{Name: name, Ends: valid.Until, Text: text}, nil
}

// KeepCredentials writes credentials to a file that only its owner can read, and returns its path. If file is empty, it is a file with the
// name of the credentials in the folder of the stack's credentials, where newer ones replace older ones. A file that is named must not exist
// yet.
func (o *Operator) KeepCredentials(issued *IssuedCredentials, file string) (string, error) {
	if file == "" {
		path := filepath.Join(o.workspace.Credentials, issued.Name)
		return path, atomicfile.WriteBeside(path, issued.Text, 0o600)
	}
	err := writeNew(file, issued.Text)
	if errors.Is(err, os.ErrExist) {
		return "", refused(fmt.Errorf("%s exists already: name another file, or delete it first", file))
	}
	return file, err
}

// writeNew writes a file that does not exist yet, for its owner only. If it cannot be written completely, it is removed.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user named it
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// notInFileNames matches the characters of roles and users that the name of a file should not contain.
var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func inFileName(text string) string { return notInFileNames.ReplaceAllString(text, "-") }
