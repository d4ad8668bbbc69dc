package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/newproject"
	"github.com/em-infra/em-infra/operator/internal/newstack"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/stacks"
)

// InitAnswers are what a person says about a new stack.
type InitAnswers = newstack.Answers

// InitNAS is a NAS with storage for a new cluster.
type InitNAS = newstack.NAS

// InitOptions are the options of [Init].
type InitOptions struct {
	// Project is a folder of the project, or the empty folder that becomes one. Default: the current folder.
	Project string
	// Answers about the new stack. Only the name of the stack is required; the rest is proposed, as far as the hosts can say it.
	Answers InitAnswers
	// Endpoint is the URL of Proxmox VE. Required.
	Endpoint string
	// Token is the API token USER@REALM!NAME=SECRET, secret. It is written nowhere. Default: that of [stacks.TokenVariable].
	Token string
	// Insecure accepts any certificate of Proxmox VE. Default: false.
	Insecure bool
	// NASKey is the API key of the NAS of the answers, secret. It is written nowhere. Default: that of [stacks.NASKeyVariable].
	NASKey string
	// ImageFactory is the URL of the Image Factory. Default: empty, the public one.
	ImageFactory string
	// Found is called with what the hosts have, a line for each, before a person is asked. Default: nil, it is not called.
	Found func(lines []string)
	// Ask asks a person what the answers leave open. Default: nil, no person is asked.
	Ask newstack.Ask
}

// Initialized is the result of [Init].
type Initialized struct {
	// Files are the paths of the files that were written, relative to the project, sorted.
	Files []string
	// Root is the folder of the project.
	Root string
	// Content is the inventory of the new stack.
	Content Content
	// Checks are those of a preflight of the new stack.
	Checks Checks
}

// Init writes the inventory and the configuration of a new stack that fits its hosts, and in an empty folder the files of a project. It changes
// nothing on the hosts, overwrites no file, and writes only what [Operator.Validate] and [Operator.Preflight] find nothing wrong with. A
// [RefusedError] has everything that is missing, and an answer that the kind has no use for, each with what to do.
func Init(ctx context.Context, options InitOptions) (*Initialized, error) {
	options.Token = cmp.Or(options.Token, os.Getenv(stacks.TokenVariable))
	options.NASKey = cmp.Or(options.NASKey, os.Getenv(stacks.NASKeyVariable))
	if err := options.check(); err != nil {
		return nil, refused(err)
	}
	target, err := options.target()
	if err != nil {
		return nil, refused(err)
	}
	site, err := options.look(ctx, target)
	if err != nil {
		return nil, err
	}
	answers, err := options.interview(site)
	if err != nil {
		return nil, err
	}
	files, err := site.Files(answers, newstack.Connection{
		Endpoint: pve.Origin(options.Endpoint), Insecure: options.Insecure, ImageFactory: options.ImageFactory,
		TokenVariable: stacks.TokenVariable, TokenPath: stacks.TokenPath,
	})
	if err != nil {
		return nil, refused(err)
	}
	initialized := &Initialized{Root: target.root}
	if initialized.Content, initialized.Checks, err = options.examine(ctx, site, target, files); err != nil {
		return nil, err
	}
	maps.Copy(files, target.project)
	if err := files.Write(target.root); err != nil {
		return nil, err
	}
	initialized.Files = files.Paths()
	return initialized, nil
}

// check returns one error with everything that is missing, and with the first answer that the kind has no use for.
func (o InitOptions) check() error {
	ofKind := o.checkKind()
	missing := []error{ofKind}
	if o.Answers.Stack == "" {
		missing = append(missing, errors.New("no stack is named: add --stack NAME, the name of the new one, e.g. --stack home"))
	}
	if o.Endpoint == "" {
		missing = append(missing, errors.New("no endpoint of Proxmox VE is named: add --endpoint https://HOST:8006"))
	}
	if o.Token == "" {
		missing = append(missing, fmt.Errorf("no API token of Proxmox VE is given: set %s to USER@REALM!NAME=SECRET, or name a file that contains it with --token-file; `em-infra role` prints how to make one", stacks.TokenVariable))
	}
	if ofKind == nil && o.Answers.NAS.Endpoint != "" && o.NASKey == "" {
		missing = append(missing, fmt.Errorf("no API key of the NAS is given: set %s to one that you make in Credentials > Users > API Keys of TrueNAS, or name a file that contains it with --nas-key-file", stacks.NASKeyVariable))
	}
	return errors.Join(missing...)
}

// initTarget is where a new stack is written.
type initTarget struct {
	root    string
	project newproject.Files // that are missing; none in an existing project
	place   *workspace.Workspace
}

// target finds the project, or the folder that becomes one, and refuses if a file of the new stack exists.
func (o InitOptions) target() (initTarget, error) {
	here, err := filepath.Abs(o.Project)
	if err != nil {
		return initTarget{}, fmt.Errorf("current folder: %w", err)
	}
	target := initTarget{}
	target.root, err = workspace.FindRoot(here)
	if errors.Is(err, workspace.ErrNoProject) {
		target.root = here
		target.project, err = newproject.Bare()
	}
	if err != nil {
		return target, err
	}
	if target.place, err = workspace.Real(target.root, o.Answers.Stack, ""); err != nil {
		if errors.Is(err, workspace.ErrStackName) {
			err = fmt.Errorf("--stack: %w", err)
		}
		return target, err
	}
	if err := o.Answers.CheckNames(); err != nil {
		return target, err
	}
	files := newproject.Files{}
	for _, path := range newstack.PathsOf(o.Answers).All() {
		files[path] = nil
	}
	maps.Copy(files, target.project)
	if there := files.There(target.root); len(there) > 0 {
		return target, fmt.Errorf("%s: choose another --stack, or move what is there away", existing(target.root, there))
	}
	return target, nil
}

// look reads what stands on the hosts, and what the other stacks of the project have there.
func (o InitOptions) look(ctx context.Context, target initTarget) (newstack.Site, error) {
	found, err := preflight.Look(ctx, o.host())
	if err != nil {
		return newstack.Site{}, err
	}
	switch {
	case found.Version.Err != nil:
		return newstack.Site{}, refused(o.unreached(found.Version.Err))
	case !found.MayRead():
		return newstack.Site{}, refused(fmt.Errorf("token %s may do nothing on this Proxmox VE: give it the role with the commands that `em-infra role` prints", found.Token))
	}
	beside, err := besideOf(target.place, o.Endpoint)
	if err != nil {
		return newstack.Site{}, err
	}
	makers, err := makersBeside(target.place, o.Endpoint)
	if err != nil {
		return newstack.Site{}, err
	}
	pools, err := o.pools(ctx)
	return newstack.Site{Found: found, Beside: beside, Makers: makers, Pools: pools}, err
}

func (o InitOptions) host() pve.Connection {
	return pve.Connection{Endpoint: pve.Origin(o.Endpoint), Token: o.Token, Insecure: o.Insecure}
}

// unreached returns why Proxmox VE does not answer, with what to do here: there is no configuration of the stack yet.
func (o InitOptions) unreached(err error) error {
	var unreached *pve.UnreachedError
	switch {
	case errors.Is(err, pve.ErrToken):
		return fmt.Errorf("the token has not the form USER@REALM!NAME=SECRET: set %s again, or correct the file of --token-file", stacks.TokenVariable)
	case errors.Is(err, pve.ErrEndpoint):
		return fmt.Errorf("%s is no URL of Proxmox VE: name one such as https://vmhost:8006 with --endpoint", o.Endpoint)
	case !errors.As(err, &unreached):
		return err
	case unreached.Reason == pve.TokenRefused:
		return fmt.Errorf("%s: make it with the commands that `em-infra role` prints, and set %s to it", unreached.What, stacks.TokenVariable)
	case unreached.Reason == pve.CertificateUntrusted:
		return fmt.Errorf("%s: give the host a certificate that is, or add --insecure", unreached.What)
	default:
		return fmt.Errorf("%s: start the host, or correct --endpoint", unreached.What)
	}
}

// interview shows what was found, and asks what the answers leave open.
func (o InitOptions) interview(site newstack.Site) (InitAnswers, error) {
	defaults, err := inventory.DefaultCluster()
	if err != nil {
		return o.Answers, err
	}
	if o.Found != nil {
		o.Found(site.Describe(defaults.Talos.Version.String()))
	}
	if o.Ask == nil {
		return o.Answers, nil
	}
	return site.Interview(o.Answers, o.Ask)
}
