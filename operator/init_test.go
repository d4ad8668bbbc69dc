package operator_test

import (
	"crypto/rand"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/operator"
)

// emulatedSite serves one host as its installer leaves it and an Image Factory, and returns the options that reach them.
func emulatedSite(t *testing.T, alter func(*proxmox.Config)) operator.InitOptions {
	t.Helper()
	secret := rand.Text()
	config := proxmox.Config{
		Release: schema.Release91,
		Hosts: []proxmox.Host{{
			Name: "pve", Cores: 16, CPUModel: "AMD EPYC", MemoryMiB: 64 << 10,
			Storages: []proxmox.Storage{
				{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 96 << 30, Path: "/var/lib/vz"},
				{Name: "local-lvm", Type: storage.LVMThin, Content: []string{storage.Images}, TotalBytes: 1 << 40},
			},
			Bridges: []proxmox.Bridge{{
				Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true, Address: netip.MustParsePrefix("192.168.1.10/24"), Gateway: netip.MustParseAddr("192.168.1.254"),
			}},
		}},
		Tokens: []proxmox.Token{{
			ID: "em-infra@pve!operator", Secret: secret, Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(schema.Release91),
		}},
	}
	if alter != nil {
		alter(&config)
	}
	server, err := proxmox.NewServer(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	front := httptest.NewTLSServer(server)
	t.Cleanup(front.Close)
	images := httptest.NewServer(factory.New())
	t.Cleanup(images.Close)
	return operator.InitOptions{
		Project: t.TempDir(), Answers: operator.InitAnswers{Stack: "home"}, Endpoint: front.URL + "/api2/json", Token: "em-infra@pve!operator=" + secret,
		Insecure: true, ImageFactory: images.URL,
	}
}

// TestInitInAnEmptyFolder: the project and the stack are written, and a second stack beside it takes nothing of the first.
func TestInitInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	options := emulatedSite(t, nil)
	var found []string
	options.Found = func(lines []string) { found = lines }
	initialized, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, []string{"pve: 16 threads, 64 GiB of memory; storage local (iso) with 96 GiB free; storage local-lvm (images) with 1024 GiB free; bridge vmbr0"}, found)
	require.Equal(t, []string{
		".gitignore", ".state/.gitkeep", "Pulumi.home.yaml", "Pulumi.yaml", "schemas/cluster.schema.json", "schemas/hosts.schema.json", "schemas/nodes.schema.json", "schemas/systems.schema.json",
		"stacks/home/cluster.yaml", "stacks/home/nodes.yaml",
	}, initialized.Files)
	require.Equal(t, "https://192.168.1.11:6443", initialized.Content.(*inventory.Inventory).Cluster.EndpointURL().String(), "the host itself has the first address")
	require.Zero(t, len(initialized.Checks.Unsound()))
	for _, file := range initialized.Files {
		text, err := os.ReadFile(filepath.Join(options.Project, file))
		require.NoError(t, err)
		require.NotContains(t, string(text), options.Token[len("em-infra@pve!operator="):], "no file has the token")
	}

	_, err = operator.Init(t.Context(), options)
	require.ErrorContains(t, err, "Pulumi.home.yaml, ")
	require.ErrorContains(t, err, "/stacks/home/nodes.yaml exist, and are not overwritten: choose another --stack, or move what is there away")

	options.Answers.Stack = "second"
	second, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, []string{"Pulumi.second.yaml", "stacks/second/cluster.yaml", "stacks/second/nodes.yaml"}, second.Files)
	opened, err := operator.Open(operator.Options{Stack: "second", Project: options.Project})
	require.NoError(t, err)
	_, err = opened.Validate()
	require.NoError(t, err)
	require.Equal(t, 201, second.Content.(*inventory.Inventory).Nodes[0].VMID)

	options.Answers = operator.InitAnswers{Stack: "third", Cluster: "home"}
	_, err = operator.Init(t.Context(), options)
	require.ErrorContains(t, err, "home is the cluster of stack home: choose another name with --cluster\n")
	require.NoFileExists(t, filepath.Join(options.Project, "Pulumi.third.yaml"))
}

// TestInitOfALayer: hosts, then systems that need what the hosts' stack has yet to make, then a cluster beside both; nothing is edited between.
func TestInitOfALayer(t *testing.T) {
	t.Parallel()
	options := emulatedSite(t, func(c *proxmox.Config) {
		c.Hosts[0].Storages[1].Content = []string{storage.Images, storage.RootDir}
	})
	options.Answers = operator.InitAnswers{Stack: "dns", Kind: operator.KindSystems}
	_, err := operator.Init(t.Context(), options)
	require.EqualError(t, err, "host pve has no active storage for content types vztmpl and import: write a stack of hosts first, with `em-infra init --kind hosts --stack hosts`, or as root on the host: `pvesm set local --content iso,vztmpl,import`")

	options.Answers = operator.InitAnswers{Stack: "hosts", Kind: operator.KindHosts}
	hosts, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	require.Subset(t, hosts.Files, []string{"Pulumi.hosts.yaml", "Pulumi.yaml", "stacks/hosts/hosts.yaml"})
	require.Contains(t, hosts.Content.Summary(), "stacks/hosts is sound: 1 host (pve), 1 storage")
	require.Zero(t, len(hosts.Checks.Unsound()))

	options.Answers = operator.InitAnswers{Stack: "dns", Kind: operator.KindSystems}
	dns, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, []string{"Pulumi.dns.yaml", "stacks/dns/systems.yaml"}, dns.Files)
	var missing []string
	for _, check := range dns.Checks.Unsound() {
		missing = append(missing, check.Remedy)
	}
	require.Equal(t, []string{
		"run `em-infra up --stack hosts`, whose hosts.yaml has the storage local for import", "run `em-infra up --stack hosts`, whose hosts.yaml has the storage local for vztmpl",
	}, missing)

	options.Answers = operator.InitAnswers{Stack: "home"}
	cluster, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	require.Zero(t, len(cluster.Checks.Unsound()))
	for _, stack := range []string{"hosts", "dns", "home"} {
		opened, err := operator.Open(operator.Options{Stack: stack, Project: options.Project})
		require.NoError(t, err)
		_, err = opened.Validate()
		require.NoError(t, err, stack)
	}

	options.Answers = operator.InitAnswers{Stack: "more", Kind: operator.KindHosts}
	_, err = operator.Init(t.Context(), options)
	require.EqualError(t, err, "host pve is configured by another stack already (--stack hosts): name others with --host")
}

// TestInitWithANAS: cluster.yaml describes datasets on its only pool, and the preflight of the new stack has asked the box.
func TestInitWithANAS(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	options := emulatedSite(t, nil)
	options.NASKey = box.Connection.APIKey
	options.Answers.NAS = operator.InitNAS{Endpoint: box.Connection.Endpoint, Fingerprint: box.Connection.Fingerprint}
	initialized, err := operator.Init(t.Context(), options)
	require.NoError(t, err)
	var asked []string
	for _, check := range initialized.Checks {
		require.Equal(t, "ok", string(check.Result), check.Sentence)
		asked = append(asked, check.Name)
	}
	require.Subset(t, asked, []string{"nas", "nas-roles", "nas-pool", "nas-dataset"})
	storage := initialized.Content.(*inventory.Inventory).Cluster.Storage
	require.Equal(t, "tank", storage.Pool)
	require.Equal(t, box.Connection.Endpoint, storage.Endpoint)
	require.True(t, storage.Protect)
	for _, path := range initialized.Files {
		text, err := os.ReadFile(filepath.Join(initialized.Root, path))
		require.NoError(t, err)
		require.NotContains(t, string(text), options.NASKey, path)
	}

	few := emulatedSite(t, nil)
	few.NASKey, few.Answers.NAS = options.NASKey, options.Answers.NAS
	few.Answers.NAS.Pool = "fast"
	_, err = operator.Init(t.Context(), few)
	require.ErrorContains(t, err, "TrueNAS has no pool fast, it has tank: correct storage.pool, or create it in Storage > Create Pool of TrueNAS")
}

// TestInitIsRefused: everything that is missing at once, each with what to do, and nothing is written.
func TestInitIsRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		alter  func(*proxmox.Config)
		change func(*operator.InitOptions)
		want   string
	}{
		{"nothing is said", nil, func(o *operator.InitOptions) { *o = operator.InitOptions{Project: o.Project} },
			"no stack is named: add --stack NAME, the name of the new one, e.g. --stack home\n" +
				"no endpoint of Proxmox VE is named: add --endpoint https://HOST:8006\n" +
				"no API token of Proxmox VE is given: set EM_INFRA_PROXMOX_TOKEN to USER@REALM!NAME=SECRET, or name a file that contains it with --token-file; `em-infra role` prints how to make one"},
		{"no name of a stack", nil, func(o *operator.InitOptions) { o.Answers.Stack = "../home" }, `--stack: "../home" is no name of a stack: choose one of up to 100 letters, digits, -, _ and . that begins with a letter or a digit`},
		{"a name for no cluster", nil, func(o *operator.InitOptions) { o.Answers.Stack = "My_Home" },
			`--stack: "My_Home" is not valid, because the cluster and its nodes are named after it (a-z, 0-9 and -, a letter or digit first and last, at most 52 characters): choose another name, such as my-home, or name the cluster with --cluster`},
		{"a name for no hosts", nil, func(o *operator.InitOptions) { o.Answers.Stack, o.Answers.Kind = "Site_1", operator.KindHosts },
			`--stack: "Site_1" is not valid, because the resources of the stack are named after it (a-z, 0-9 and -, a letter or digit first and last, at most 63 characters): choose another name, such as site-1`},
		{"a name for no systems", nil, func(o *operator.InitOptions) {
			o.Answers.Stack, o.Answers.Kind = strings.Repeat("x", 64), operator.KindSystems
		},
			`--stack: "` + strings.Repeat("x", 64) + `" is not valid, because the resources of the stack are named after it (a-z, 0-9 and -, a letter or digit first and last, at most 63 characters): choose another name`},
		{"a name that is too long for nodes", nil, func(o *operator.InitOptions) { o.Answers.Cluster = strings.Repeat("x", 53) },
			`--cluster: "` + strings.Repeat("x", 53) + `" is not valid, because the cluster and its nodes are named after it (a-z, 0-9 and -, a letter or digit first and last, at most 52 characters): choose another name`},
		{"nobody answers", nil, func(o *operator.InitOptions) { o.Endpoint = "https://127.0.0.1:1" }, "proxmox VE does not answer at https://127.0.0.1:1 ("},
		{"no endpoint", nil, func(o *operator.InitOptions) { o.Endpoint = "vmhost" }, "vmhost is no URL of Proxmox VE: name one such as https://vmhost:8006 with --endpoint"},
		{"an untrusted certificate", nil, func(o *operator.InitOptions) { o.Insecure = false }, ": give the host a certificate that is, or add --insecure"},
		{"a wrong secret", nil, func(o *operator.InitOptions) { o.Token = "em-infra@pve!operator=wrong" },
			" refuses the token em-infra@pve!operator: make it with the commands that `em-infra role` prints, and set EM_INFRA_PROXMOX_TOKEN to it"},
		{"no token", nil, func(o *operator.InitOptions) { o.Token = "root" },
			"the token has not the form USER@REALM!NAME=SECRET: set EM_INFRA_PROXMOX_TOKEN again, or correct the file of --token-file"},
		{"a token without rights", func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "NoAccess", nil }, nil,
			"token em-infra@pve!operator may do nothing on this Proxmox VE: give it the role with the commands that `em-infra role` prints"},
		{"a token with few rights", func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "PVEAuditor", nil }, nil,
			"token em-infra@pve!operator lacks Sys.AccessNetwork on /nodes/pve: as root on the host: `pveum acl modify /nodes/pve --users em-infra@pve --roles EmInfraOperator`"},
		{"a name with a capital", nil, func(o *operator.InitOptions) { o.Answers.Cluster = "Home" }, `--cluster: "Home" is not valid, because the cluster and its nodes are named after it (a-z, 0-9 and -, a letter or digit first and last, at most 52 characters): choose another name, such as home`},
		{"no key of the NAS", nil, func(o *operator.InitOptions) { o.Answers.NAS.Endpoint = "https://nas.example" },
			"no API key of the NAS is given: set EM_INFRA_TRUENAS_API_KEY to one that you make in Credentials > Users > API Keys of TrueNAS, or name a file that contains it with --nas-key-file"},
		{"a NAS that is off", nil, func(o *operator.InitOptions) {
			o.Answers.NAS.Endpoint, o.NASKey = "https://127.0.0.1:1", "1-"+rand.Text()
		},
			"--nas: TrueNAS does not answer at https://127.0.0.1:1 ("},
		{"a NAS in clear", nil, func(o *operator.InitOptions) {
			o.Answers.NAS.Endpoint, o.NASKey = "http://nas.example", "1-"+rand.Text()
		},
			"--nas: the endpoint of TrueNAS is http://nas.example: write https, since the box revokes an API key that it receives in clear"},
		{"another bridge", nil, func(o *operator.InitOptions) {
			o.Answers.Bridge, o.Answers.Network = "vmbr7", netip.MustParsePrefix("10.0.0.0/24")
		},
			"bridge vmbr7 is not on pve, which has vmbr0: correct bridge in the inventory, or make the bridge in Proxmox VE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("EM_INFRA_PROXMOX_TOKEN", "")
			t.Setenv("EM_INFRA_TRUENAS_API_KEY", "")
			options := emulatedSite(t, test.alter)
			if test.change != nil {
				test.change(&options)
			}
			_, err := operator.Init(t.Context(), options)
			var refusal *operator.RefusedError
			require.ErrorAs(t, err, &refusal)
			require.ErrorContains(t, err, test.want)
			written, err := os.ReadDir(options.Project)
			require.NoError(t, err)
			require.Empty(t, written)
		})
	}
}
