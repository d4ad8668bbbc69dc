package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// initFlags are the flags of init. Refusals name the answers by these flags.
type initFlags struct {
	options       operator.InitOptions
	network       string
	gateway       string
	first         string
	workers       int
	tokenFile     string
	nasKeyFile    string
	kind          string
	withoutPerson bool
}

func newInitCommand() *cobra.Command {
	flags := &initFlags{}
	command := &cobra.Command{
		Use:   "init --stack STACK",
		Short: "Write the inventory of a new stack that fits the hosts",
		Long: `Write the inventory and the configuration of a new stack: stacks/STACK/cluster.yaml, nodes.yaml and Pulumi.STACK.yaml, and in a folder
that is no project yet the files of one. Proxmox VE is asked what it has: hosts, storages and their room, bridges and VLANs, GPUs, and
the VMIDs and addresses that are in use. What is in use, and what other stacks of the project take, is left out of the proposals.

With --kind hosts it writes hosts.yaml, which adopts what the hosts have: the installer's folder, opened for what the other stacks put there, and
names for their GPUs. With --kind systems it writes systems.yaml, with a virtual machine and a container for the DNS of the site. A stack may need
what a stack of hosts of the same project will create.

On a terminal it asks for everything that no flag sets, each time with a proposal; without a terminal it takes the proposals. Nothing is changed on
the hosts, and no file is overwritten. Files are written only if validate and preflight find nothing wrong with them.

With --nas, cluster.yaml also describes datasets on a TrueNAS box, which is asked with the API key of its user em-infra. The key is read from
` + nasKeyVariable + `, from the file of --nas-key-file, or from the terminal, and is written nowhere.

The token is read from ` + proxmoxTokenVariable + `, from the file of --token-file, or from the terminal, where it is not shown. It is written nowhere.

Exit codes: 0 the files are written, 3 something is missing, and nothing was written.`,
		Example: `  em-infra init
  ` + proxmoxTokenVariable + `='em-infra@pve!operator=SECRET' em-infra init --stack home --endpoint https://vmhost:8006 --network 192.168.20.0/24 --vlan 20`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.bind(command)
	return command
}

func (f *initFlags) bind(command *cobra.Command) {
	answers, flags := &f.options.Answers, command.Flags()
	flags.StringVar(&answers.Stack, "stack", "", "the name of the new stack, e.g. home")
	flags.StringVar(&f.kind, "kind", string(operator.KindPlatform), "what the stack brings up: platform (a cluster), hosts or systems")
	completeFlag(command, "kind", oneOf(string(operator.KindPlatform), string(operator.KindHosts), string(operator.KindSystems)))
	flags.StringVar(&f.options.Endpoint, "endpoint", "", "the URL of Proxmox VE, e.g. https://vmhost:8006 (default: "+proxmoxEndpointVariable+")")
	flags.BoolVar(&f.options.Insecure, "insecure", false, "accept any certificate of Proxmox VE (default: "+proxmoxInsecureVariable+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "the `file` with the API token of Proxmox VE (default: "+proxmoxTokenVariable+")")
	flags.StringVar(&f.options.ImageFactory, "image-factory", "", "the URL of another Image Factory than the public one")
	flags.StringVar(&answers.Cluster, "cluster", "", "the name of the cluster (default: that of the stack)")
	flags.StringSliceVar(&answers.Hosts, "host", nil, "a node of Proxmox VE for the machines; may be repeated (default: all that are online)")
	flags.StringVar(&answers.Bridge, "bridge", "", "the bridge of the machines (default: vmbr0, or one that all hosts have)")
	flags.IntVar(&answers.VLAN, "vlan", 0, "the VLAN tag of the machines (default: none)")
	flags.StringVar(&f.network, "network", "", "the network of the machines, e.g. 192.168.20.0/24 (default: that of the bridge)")
	flags.StringVar(&f.gateway, "gateway", "", "the gateway of the network (default: that of the bridge, or the first address)")
	flags.StringVar(&f.first, "first-address", "", "the first of the addresses to use (default: the tenth of the network)")
	flags.IntVar(&answers.ControlPlanes, "control-planes", 0, "the number of control planes: 1, 3 or 5 (default: 3 on three hosts or more, else 1)")
	flags.IntVar(&f.workers, "workers", 1, "the number of workers without a GPU")
	flags.IntVar(&answers.GPUWorkers, "gpu-workers", 0, "the number of workers with a GPU each")
	flags.StringVar(&answers.ISOStorage, "iso-storage", "", "the storage for the ISO of Talos (default: one for content type iso)")
	flags.StringVar(&answers.DiskStorage, "disk-storage", "", "the storage for the disks (default: one for content type images)")
	flags.StringVar(&answers.NAS.Endpoint, "nas", "", "the URL of a TrueNAS box with storage for the cluster, e.g. https://nas.example (default: none)")
	flags.StringVar(&answers.NAS.Fingerprint, "nas-fingerprint", "", "the SHA-256 of the certificate of the NAS (default: it is verified)")
	flags.StringVar(&answers.NAS.Pool, "nas-pool", "", "the pool of the datasets (default: the only one of the NAS)")
	flags.StringVar(&f.nasKeyFile, "nas-key-file", "", "the `file` with the API key of the NAS (default: "+nasKeyVariable+")")
	flags.BoolVar(&f.withoutPerson, "yes", false, "take what is proposed, and ask nothing")
	completeFlag(command, "control-planes", oneOf("1", "3", "5"))
	for _, name := range []string{"stack", "endpoint", "cluster", "host", "bridge", "vlan", "network", "gateway", "first-address", "workers", "gpu-workers", "iso-storage", "disk-storage", "image-factory", "nas", "nas-fingerprint", "nas-pool"} {
		completeFlag(command, name, oneOf()) // only the hosts know
	}
}

func (f *initFlags) run(command *cobra.Command) error {
	if err := f.read(command); err != nil {
		return refused(err)
	}
	streams := streamsOf(command)
	if isTerminal(streams.in) && !f.withoutPerson {
		if err := f.askPerson(command.Context(), streams); err != nil {
			return err
		}
	}
	initialized, err := operator.Init(command.Context(), f.options)
	if err != nil {
		return err
	}
	f.print(streams, initialized)
	return nil
}

// read takes what flags and the environment say.
func (f *initFlags) read(command *cobra.Command) error {
	options := &f.options
	if options.Endpoint == "" {
		options.Endpoint = os.Getenv(proxmoxEndpointVariable)
	}
	if insecure, err := strconv.ParseBool(os.Getenv(proxmoxInsecureVariable)); err == nil && !command.Flags().Changed("insecure") {
		options.Insecure = insecure
	}
	options.Answers.Kind = operator.Kind(f.kind)
	if err := operator.CheckInitKind(options.Answers.Kind, command.Flags().Changed); err != nil {
		return err
	}
	if command.Flags().Changed("workers") {
		options.Answers.Workers = &f.workers
	}
	if err := f.readSecrets(); err != nil {
		return err
	}
	return f.readAddresses()
}

// readSecrets reads the files with the token and with the key of the NAS.
func (f *initFlags) readSecrets() error {
	for _, one := range []struct {
		path, what, flag string
		into             *string
	}{
		{f.tokenFile, "token", "--token-file", &f.options.Token},
		{f.nasKeyFile, "API key of the NAS", "--nas-key-file", &f.options.NASKey},
	} {
		if one.path == "" {
			continue
		}
		text, err := os.ReadFile(one.path)
		if err != nil {
			return fmt.Errorf("%w: name the file with the %s as %s", err, one.what, one.flag)
		}
		*one.into = strings.TrimSpace(string(text))
	}
	if nas := f.options.Answers.NAS; nas.Endpoint == "" && nas.Fingerprint+nas.Pool+f.nasKeyFile != "" {
		return errors.New("--nas-fingerprint, --nas-pool and --nas-key-file say more about a NAS: add --nas with its URL, or leave them out")
	}
	return nil
}

// readAddresses reads the flags of the network.
func (f *initFlags) readAddresses() (err error) {
	answers := &f.options.Answers
	if f.network != "" {
		if answers.Network, err = netip.ParsePrefix(f.network); err != nil {
			return fmt.Errorf("--network: %q is no network: write one such as 192.168.20.0/24", f.network)
		}
	}
	for _, one := range []struct {
		flag, text string
		into       *netip.Addr
	}{{"gateway", f.gateway, &answers.Gateway}, {"first-address", f.first, &answers.FirstAddress}} {
		if one.text == "" {
			continue
		}
		if *one.into, err = netip.ParseAddr(one.text); err != nil {
			return fmt.Errorf("--%s: %q is no address: write one such as 192.168.20.1", one.flag, one.text)
		}
	}
	return nil
}

func (f *initFlags) print(s streams, initialized *operator.Initialized) {
	for _, file := range initialized.Files {
		fmt.Fprintf(s.out, " written    %s\n", workspace.Nearby(filepath.Join(initialized.Root, filepath.FromSlash(file))))
	}
	fmt.Fprintf(s.out, " preflight  %s\n", initialized.Checks.Summary())
	for _, check := range initialized.Checks.Unsound() {
		fmt.Fprintf(s.out, " note       %s: %s\n", check.Sentence, check.Remedy)
	}
	place := "--stack " + f.options.Answers.Stack
	if inv, isPlatform := initialized.Content.(*inventory.Inventory); isPlatform {
		fmt.Fprintf(s.out, "%s: %d+%d nodes on %s, Kubernetes API at %s\n", inv.Cluster.Name, len(inv.Nodes.ControlPlanes()), len(inv.Nodes.Workers()),
			strings.Join(inv.Nodes.Hosts(), ", "), inv.Cluster.EndpointURL())
	} else {
		fmt.Fprintln(s.out, initialized.Content.Summary())
	}
	if os.Getenv(proxmoxTokenVariable) == "" {
		fmt.Fprintf(s.out, "the token is written nowhere: set %s, or see the comment in Pulumi.%s.yaml\n", proxmoxTokenVariable, f.options.Answers.Stack)
	}
	rehearsal := typed("rehearse %s", place)
	if initialized.Content.Kind() != operator.KindPlatform {
		rehearsal = typed("site up --lab")
	}
	for _, check := range initialized.Checks.Unsound() {
		if check.MadeBy != "" {
			place, rehearsal = check.MadeBy, typed("site up --lab") // it comes first
			break
		}
	}
	fmt.Fprintf(s.out, "next: %s   # on an emulated host, or\n      %s\n", rehearsal, typed("up %s", place))
}
