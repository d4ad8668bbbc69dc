package stacks

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/pve"
)

// Namespace of the stack's configuration: em-infra:inventory and so on. The keys are a contract.
const Namespace = "em-infra"

// Configuration keys, without their namespace.
const (
	// KeyInventory is the folder with cluster.yaml and nodes.yaml, relative to the project. Default: stacks/<stack>.
	KeyInventory = "inventory"
	// KeyProxmoxEndpoint is the URL of the Proxmox VE API, e.g. https://vmhost:8006. Required. Its path is ignored.
	KeyProxmoxEndpoint = "proxmoxEndpoint"
	// KeyProxmoxToken is the API token, user@realm!name=secret, secret. Required, unless [TokenVariable] or [TokenPath] has it.
	KeyProxmoxToken = "proxmoxToken"
	// KeyProxmoxInsecure accepts any certificate of the API. Default: false.
	KeyProxmoxInsecure = "proxmoxInsecure"
	// KeyImageFactoryURL is the Image Factory. Default: https://factory.talos.dev.
	KeyImageFactoryURL = "imageFactoryUrl"
	// KeyLabNetwork is the network that the nodes are moved to in a rehearsal. Never set for a real host.
	KeyLabNetwork = "labNetwork"
	// KeyLabStorage is the emulated TrueNAS of a rehearsal, URL#FINGERPRINT. Never set for a real host.
	KeyLabStorage = "labStorage"
)

// KeyTrueNASAPIKey is the API key of TrueNAS, secret. Default: that of secrets.sops.yaml.
const KeyTrueNASAPIKey = "truenasApiKey"

// Key returns a configuration key with its namespace.
func Key(name string) string { return Namespace + ":" + name }

// settings are the stack's configuration: where the inventory is and how to reach the host. They contain no topology.
type settings struct {
	inventory       string
	proxmoxEndpoint string
	proxmoxToken    pulumi.StringOutput
	plainToken      string // the same, for the program's own connection to the host
	proxmoxInsecure bool
	imageFactory    *url.URL
	labNetwork      netip.Prefix
	labStorage      labStorage
}

// host returns the connection to Proxmox VE.
func (s settings) host() pve.Connection {
	return pve.Connection{Endpoint: s.proxmoxEndpoint, Token: s.plainToken, Insecure: s.proxmoxInsecure}
}

func readSettings(ctx *pulumi.Context, options Options) (settings, error) {
	values := config.New(ctx, Namespace)
	s := settings{
		inventory:       cmp.Or(options.Inventory, values.Get(KeyInventory), filepath.Join("stacks", ctx.Stack())),
		proxmoxEndpoint: pve.Origin(values.Get(KeyProxmoxEndpoint)),
		proxmoxInsecure: values.GetBool(KeyProxmoxInsecure),
		labStorage:      parseLabStorage(values.Get(KeyLabStorage)),
	}
	if !filepath.IsAbs(s.inventory) {
		s.inventory = filepath.Join(options.Root, s.inventory)
	}

	unread := s.readToken(ctx, values.Get(KeyProxmoxToken), values.Get(KeyLabNetwork) != "", options.secretsReader())
	var err error
	s.imageFactory, err = parseURL(values.Get(KeyImageFactoryURL), components.ImageFactory)
	problems := []error{
		missing(ctx, s.proxmoxEndpoint, KeyProxmoxEndpoint, "https://HOST:8006"),
		cmp.Or(unread, missing(ctx, s.plainToken, KeyProxmoxToken, "--secret 'USER@REALM!NAME=SECRET'")),
		wrong(ctx, err, KeyImageFactoryURL, components.ImageFactory),
	}
	if network := values.Get(KeyLabNetwork); network != "" {
		s.labNetwork, err = netip.ParsePrefix(network)
		problems = append(problems, wrong(ctx, err, KeyLabNetwork, "127.20.20.0/24"))
	}
	return s, errors.Join(problems...)
}

// readToken reads the token of Proxmox VE. That of a lab is in the configuration of its rehearsal, and nowhere else.
func (s *settings) readToken(ctx *pulumi.Context, configured string, isLab bool, read SecretsReader) (err error) {
	s.plainToken = configured
	if !isLab {
		s.plainToken, _, err = ProxmoxToken(ctx.Context(), configured, s.inventory, read)
	}
	s.proxmoxToken = pulumi.ToSecret(pulumi.String(s.plainToken)).(pulumi.StringOutput)
	return err
}

func parseURL(text, fallback string) (*url.URL, error) {
	if text == "" {
		text = fallback
	}
	location, err := url.Parse(text)
	if err == nil && (location.Host == "" || location.Scheme != "https" && location.Scheme != "http") {
		err = fmt.Errorf("%q is no http or https URL", text)
	}
	return location, err
}

func missing(ctx *pulumi.Context, value, key, example string) error {
	if value != "" {
		return nil
	}
	return fmt.Errorf("config %s:%s is not set: run `pulumi config set --stack %s %s:%s %s`", Namespace, key, ctx.Stack(), Namespace, key, example)
}

func wrong(ctx *pulumi.Context, err error, key, example string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("config %s:%s: %w: run `pulumi config set --stack %s %s:%s %s`", Namespace, key, err, ctx.Stack(), Namespace, key, example)
}
