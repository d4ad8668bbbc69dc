package stacks_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

const (
	tokenSecret  = "kubernetes:core/v1:Secret"
	tokenRelease = "kubernetes:helm.sh/v3:Release"
)

// operator sets an environment without any keys, and a temporary home folder.
func operator(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for _, name := range []string{secrets.KeyVariable, secrets.KeyFileVariable} {
		t.Setenv(name, "")
	}
	return home
}

// withAddons returns a copy of the stack's inventory with addons.
func withAddons(t *testing.T, addons string) stacks.Options {
	t.Helper()
	const last = "  gpu-worker: {cores: 8, memoryMiB: 32768, diskGiB: 256}\n"
	return stacks.Options{Root: "..", Inventory: edited(t, "cluster.yaml", last, last+"addons:\n"+addons), Secrets: decrypted}
}

// decrypted reads the secrets in this process, as the command line does.
func decrypted(_ context.Context, folder string) (map[string]string, error) {
	configDir, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	loaded, err := secrets.Load(folder, secrets.KeysOf(os.Getenv, configDir))
	if err != nil {
		return nil, err
	}
	return loaded.Reveal(), nil
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// lineOf returns where a line stands in cluster.yaml.
func lineOf(t *testing.T, dir, line string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, err)
	at := slices.Index(strings.Split(string(text), "\n"), line)
	require.GreaterOrEqual(t, at, 0)
	return at + 1
}

// dataOf returns the data of a Secret, which must be secret.
func dataOf(t *testing.T, r *recorder.Recorder, name string) map[string]string {
	t.Helper()
	value := r.Named(t, tokenSecret, "k3s-dev-addons-secret-"+name).Inputs["data"]
	require.True(t, value.IsSecret(), name)
	data := map[string]string{}
	for key, value := range value.SecretValue().Element.ObjectValue() {
		text, err := base64.StdEncoding.DecodeString(value.StringValue())
		require.NoError(t, err)
		data[string(key)] = string(text)
	}
	return data
}

const everyKey = `  flux:
    gitRepository: {url: "https://git.example/cluster", secretRef: git}
    kustomization: {path: ./clusters/k3s-dev}
    decryption: {ageKeyFile: ~/keys.txt}
  truenas: {host: nas.example}
`

func TestKeysComeFromTheStacksConfiguration(t *testing.T) { //nolint:paralleltest // operator sets the environment
	key := sopstest.NewKey(t).String()
	write(t, filepath.Join(operator(t), "keys.txt"), "# mine\n"+key+"\n")

	r, err := runWith(t, withAddons(t, everyKey), reachable(map[string]string{
		"em-infra:truenasApiKey": "made-up API key", "em-infra:gitUsername": "git", "em-infra:gitPassword": "made-up password",
	}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"age.agekey": "# mine\n" + key + "\n"}, dataOf(t, r, "sops-age"))
	require.Equal(t, map[string]string{"username": "git", "password": "made-up password"}, dataOf(t, r, "git"))
	require.Equal(t, map[string]string{"host": "nas.example", "apiKey": "made-up API key"}, dataOf(t, r, "truenas-api"))
}

func TestKeysComeFromTheFileBesideTheInventory(t *testing.T) {
	home, key := operator(t), sopstest.NewKey(t)
	file := write(t, filepath.Join(home, "keys.txt"), key.String()+"\n")
	t.Setenv(secrets.KeyFileVariable, file)
	options := withAddons(t, `  flux:
    gitRepository: {url: "ssh://git@git.example/cluster", secretRef: git}
    decryption: {}
  truenas: {host: nas.example}
`)
	write(t, filepath.Join(options.Inventory, secrets.File), sopstest.Encrypt(t,
		"truenas: {apiKey: from the file}\ngit: {identity: made-up identity, knownHosts: git.example ssh-ed25519 made-up}\n", key))

	r, err := runWith(t, options, reachable(nil))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"age.agekey": key.String() + "\n"}, dataOf(t, r, "sops-age"))
	require.Equal(t, map[string]string{"identity": "made-up identity", "known_hosts": "git.example ssh-ed25519 made-up"}, dataOf(t, r, "git"))
	require.Equal(t, "from the file", dataOf(t, r, "truenas-api")["apiKey"])

	r, err = runWith(t, options, reachable(map[string]string{"em-infra:truenasApiKey": "from the configuration"}))
	require.NoError(t, err)
	require.Equal(t, "from the configuration", dataOf(t, r, "truenas-api")["apiKey"], "the configuration wins")
}

func TestWhatAddonsLackIsRefusedAllAtOnce(t *testing.T) { //nolint:paralleltest // operator sets the environment
	home := operator(t)
	for name, test := range map[string]struct { //nolint:paralleltest // operator sets the environment
		addons  string
		prepare func(dir string)
		want    string
	}{
		"nothing is there": {
			addons: everyKey + "  kubeletServingCertApprover: {chart: {path: charts/approver.tgz}}\n",
			want: `DIR/cluster.yaml:{2}: addons.flux.gitRepository: lacks git.username (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with ` + "`em-infra secrets edit --stack k3s-dev`, or run `pulumi config set --secret --stack k3s-dev em-infra:gitUsername`" + `
DIR/cluster.yaml:{2}: addons.flux.gitRepository: lacks git.password (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with ` + "`em-infra secrets edit --stack k3s-dev`, or run `pulumi config set --secret --stack k3s-dev em-infra:gitPassword`" + `
DIR/cluster.yaml:{4}: addons.flux.decryption.ageKeyFile: has no file with the age key (it is looked for at HOME/keys.txt): correct the path or restore the file
DIR/cluster.yaml:{5}: addons.truenas: lacks truenas.apiKey (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with ` + "`em-infra secrets edit --stack k3s-dev`, or run `pulumi config set --secret --stack k3s-dev em-infra:truenasApiKey`" + `
DIR/cluster.yaml:{6}: addons.kubeletServingCertApprover.chart.path: is no chart on this machine (it is looked for at DIR/charts/approver.tgz; got charts/approver.tgz): correct the path, or put the chart there with ` + "`helm pull`" + `
5 problems in 1 file; nothing was touched`,
		},
		"no age key at all": {
			addons: "  flux: {decryption: {}}\n",
			want:   "DIR/cluster.yaml:{1}: addons.flux.decryption: has no age key: give ageKeyFile, or set SOPS_AGE_KEY_FILE to the file that holds it\n1 problem in 1 file; nothing was touched",
		},
		"a file that holds no age key": {
			addons:  "  flux: {decryption: {ageKeyFile: keys.txt}}\n",
			prepare: func(dir string) { write(t, filepath.Join(dir, "keys.txt"), "AGE-SECRET-KEY-1HUNTER2\n") },
			want:    "DIR/cluster.yaml:{1}: addons.flux.decryption.ageKeyFile: has a file that holds no age key (it is looked for at DIR/keys.txt): give one as age-keygen writes it: comments, and AGE-SECRET-KEY-1…\n1 problem in 1 file; nothing was touched",
		},
		"a file of secrets that is not encrypted": {
			addons:  "  truenas: {host: nas.example}\n",
			prepare: func(dir string) { write(t, filepath.Join(dir, secrets.File), "truenas: {apiKey: hunter2}\n") },
			want:    "DIR/cluster.yaml:{0}: addons: needs secrets that cannot be read: DIR/secrets.sops.yaml: is not encrypted: run `sops encrypt --in-place` on it, and replace what others may have read\n1 problem in 1 file; nothing was touched",
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := withAddons(t, test.addons)
			if test.prepare != nil {
				test.prepare(options.Inventory)
			}
			var refused error
			options.Refused = func(err error) { refused = err }
			r, err := runWith(t, options, reachable(nil))
			require.ErrorAs(t, refused, new(*inventory.Problems), "an embedding gets its type, not only its text")
			places := []string{"DIR", options.Inventory, "HOME", home}
			for below := range 10 {
				places = append(places, fmt.Sprintf("{%d}", below), strconv.Itoa(lineOf(t, options.Inventory, "addons:")+below))
			}
			want := strings.NewReplacer(places...).Replace(test.want)
			require.EqualError(t, err, "1 error occurred:\n\t* "+want+"\n\n") // the SDK's own frame
			require.Empty(t, r.Resources, "nothing is registered before the keys are there")
			require.NotContains(t, strings.ToLower(err.Error()), "hunter2")
		})
	}
}

// withBackup returns a copy of the stack's inventory whose cluster stores snapshots in a bucket itself.
func withBackup(t *testing.T, bucket string) stacks.Options {
	t.Helper()
	options := withAddons(t, "  etcdBackup: {}\n")
	file := filepath.Join(options.Inventory, "cluster.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	write(t, file, string(text)+"backups: {bucket: \""+bucket+"\", recipients: ["+recipient+"]}\n")
	return options
}

const recipient = "age1khpnnl86pzx96ttyjmldptsl5yn2v9jgmmzcjcufvk00ttkph9zs0ytgec"

func TestTheClusterStoresSnapshotsWhereEmInfraDoes(t *testing.T) { //nolint:paralleltest // operator sets the environment
	operator(t)
	r, err := runWith(t, withBackup(t, "s3://backups/home?region=garage&endpoint=nas.example:3900&use_path_style=true"), reachable(map[string]string{
		"em-infra:etcdBackupAccessKeyId": "made-up ID", "em-infra:etcdBackupSecretAccessKey": "made-up secret key",
	}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"AWS_ACCESS_KEY_ID": "made-up ID", "AWS_SECRET_ACCESS_KEY": "made-up secret key"}, dataOf(t, r, "etcd-backup-bucket"))
	job := r.Named(t, "kubernetes:batch/v1:CronJob", "k3s-dev-addons-etcd-backup").Inputs.Mappable()["spec"].(map[string]any)
	require.Equal(t, "0 */6 * * *", job["schedule"])
	pod := job["jobTemplate"].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	container := pod["containers"].([]any)[0].(map[string]any)
	require.Equal(t, "ghcr.io/siderolabs/talos-backup:v0.1.0-beta.3", container["image"])
	environment := map[string]string{}
	for _, variable := range container["env"].([]any) {
		environment[variable.(map[string]any)["name"].(string)] = variable.(map[string]any)["value"].(string)
	}
	require.Equal(t, map[string]string{
		"AGE_X25519_PUBLIC_KEY": recipient, "AWS_REGION": "garage", "BUCKET": "backups", "CLUSTER_NAME": "k3s-dev", "HOME": "/tmp",
		"CUSTOM_S3_ENDPOINT": "https://nas.example:3900", "S3_PREFIX": "home/k3s-dev/etcd", "USE_PATH_STYLE": "false",
	}, environment)
	granted := 0
	for _, call := range r.Calls {
		patches := strings.Join(textsIn(call.Args["configPatches"]), "\n")
		if strings.Contains(patches, "kubernetesTalosAPIAccess") {
			require.Contains(t, patches, "hostname: k3s-dev-control-1\n", "Talos refuses a worker that has it")
			granted++
		}
	}
	require.Equal(t, 1, granted)
}

func TestTheClusterNeedsItsOwnKeyOfTheBucket(t *testing.T) {
	operator(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "of this machine")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "of this machine")
	options := withBackup(t, "s3://backups?region=eu-central-1")
	_, err := runWith(t, options, reachable(nil))
	at := fmt.Sprintf("%s/cluster.yaml:%d: addons.etcdBackup: lacks etcdBackup.", options.Inventory, lineOf(t, options.Inventory, "addons:")+1)
	const lack = " (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with `em-infra secrets edit --stack k3s-dev`, or run `pulumi config set --secret --stack k3s-dev em-infra:"
	require.EqualError(t, err, "1 error occurred:\n\t* "+at+"accessKeyId"+lack+"etcdBackupAccessKeyId`\n"+at+"secretAccessKey"+lack+
		"etcdBackupSecretAccessKey`\n2 problems in 1 file; nothing was touched\n\n")
}

func TestChartsOfThisMachine(t *testing.T) { //nolint:paralleltest // operator sets the environment
	operator(t)
	options := withAddons(t, "  kubeletServingCertApprover:\n    chart: {path: charts/approver.tgz}\n    values: {replicas: 2}\n")
	path := write(t, filepath.Join(options.Inventory, "charts/approver.tgz"), "made-up")

	r, err := runWith(t, options, reachable(nil))
	require.NoError(t, err)
	inputs := r.Named(t, tokenRelease, "k3s-dev-addons-kubelet-csr-approver").Inputs
	require.Equal(t, path, inputs["chart"].StringValue(), "absolute: the folder of the plugins is not known")
	require.NotContains(t, inputs, resource.PropertyKey("version"))
	require.InDelta(t, 2, inputs["values"].ObjectValue()["replicas"].NumberValue(), 0)
}

// TestChartsAreNamedAlikeOnEveryMachine: a path in a resource that differs between machines would be a change in each run.
func TestChartsAreNamedAlikeOnEveryMachine(t *testing.T) { //nolint:paralleltest // operator sets the environment
	operator(t)
	const addon = "  kubeletServingCertApprover: {chart: {path: charts/approver.tgz}}\n"
	absolute := filepath.Join(t.TempDir(), "approver.tgz")
	write(t, absolute, "made-up")
	for _, test := range []struct {
		name, addon string
		workDir     func(inventory string) string
		want        func(inventory string) string
	}{
		{"in the folder of the engine", addon, filepath.Dir, func(inventory string) string { return "./" + filepath.Base(inventory) + "/charts/approver.tgz" }},
		{"in the folder of the engine, which is known by a link", addon, func(inventory string) string {
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(filepath.Dir(inventory), link))
			return link
		}, func(inventory string) string { return "./" + filepath.Base(inventory) + "/charts/approver.tgz" }},
		{"elsewhere", addon, func(inventory string) string { return filepath.Join(inventory, "engine") }, func(inventory string) string { return filepath.Join(inventory, "charts/approver.tgz") }},
		{
			"written as absolute", "  kubeletServingCertApprover: {chart: {path: " + absolute + "}}\n",
			func(string) string { return filepath.Dir(absolute) }, func(string) string { return absolute },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := withAddons(t, test.addon)
			options.WorkDir = test.workDir(options.Inventory)
			write(t, filepath.Join(options.Inventory, "charts/approver.tgz"), "made-up")
			r, err := runWith(t, options, reachable(nil))
			require.NoError(t, err)
			want := test.want(options.Inventory)
			require.Equal(t, want, r.Named(t, tokenRelease, "k3s-dev-addons-kubelet-csr-approver").Inputs["chart"].StringValue())
			require.Contains(t, r.Named(t, "em-infra:index:ClusterAddons", "k3s-dev-addons").Inputs["charts"].StringValue(), "KubeletServingCertApprover "+want)
		})
	}
}

// TestSecretsComeFromTheToolOtherwise: under plain pulumi, em-infra reads the secrets, and its refusal is passed on.
func TestSecretsComeFromTheToolOtherwise(t *testing.T) {
	options := withAddons(t, "  truenas: {host: nas.example}\n")
	options.Secrets = nil
	write(t, filepath.Join(options.Inventory, secrets.File), "sealed")
	tools := t.TempDir()
	answers, refuses := filepath.Join(tools, "answers"), filepath.Join(tools, "refuses")
	executabletest.Script(t, answers, `[ "$*" = "secrets reveal --inventory $WANTED" ] && echo '{"truenas.apiKey": "from the tool"}'`+"\n")
	executabletest.Script(t, refuses, "echo 'pin is not text: put it in quotes with `em-infra secrets edit`' >&2\necho 'exit status 3' >&2\nexit 1\n")
	t.Setenv("WANTED", options.Inventory)

	t.Setenv("EM_INFRA", answers)
	r, err := runWith(t, options, reachable(nil))
	require.NoError(t, err)
	require.Equal(t, "from the tool", dataOf(t, r, "truenas-api")["apiKey"])

	t.Setenv("EM_INFRA", refuses)
	_, err = runWith(t, options, reachable(nil))
	require.ErrorContains(t, err, "addons: needs secrets that cannot be read: pin is not text: put it in quotes with `em-infra secrets edit --stack k3s-dev`\n1 problem in 1 file")
}

// TestVolumesAreOfferedToTheInitiatorsOfTheStorage: the driver makes a group of its own for each volume, from what its class says.
func TestVolumesAreOfferedToTheInitiatorsOfTheStorage(t *testing.T) { //nolint:paralleltest // sets the environment
	operator(t)
	options := withAddons(t, `  truenas:
    host: nas.example
    csi: {storageClasses: [{name: disks, protocol: iscsi}, {name: files, protocol: nfs}]}
storage:
  endpoint: https://nas.example
  pool: tank
  datasets: [{name: k8s}]
  iscsi: {initiators: ["iqn.2024-01.com.example:worker-1", "iqn.2024-01.com.example:worker-2"], listen: ["fd00:20::5", 192.168.20.5]}
`)
	file := filepath.Join(options.Inventory, "cluster.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	write(t, file, strings.Replace(string(text), "extensions: []", "extensions: [siderolabs/iscsi-tools]", 1))
	r, err := runWith(t, options, reachable(map[string]string{"em-infra:truenasApiKey": "made-up API key"}))
	require.NoError(t, err)
	parameters := func(name string) map[string]any {
		class := r.Named(t, "kubernetes:storage.k8s.io/v1:StorageClass", "k3s-dev-addons-storageclass-"+name)
		return class.Inputs["parameters"].ObjectValue().Mappable()
	}
	require.Equal(t, map[string]any{"protocol": "iscsi", "iscsi.initiators": "iqn.2024-01.com.example:worker-1,iqn.2024-01.com.example:worker-2"}, parameters("disks"))
	require.NotContains(t, parameters("files"), "iscsi.initiators")
	config := r.Named(t, "kubernetes:core/v1:ConfigMap", "k3s-dev-addons-configmap-truenas-csi-config")
	require.Equal(t, "192.168.20.5:3260", config.Inputs["data"].ObjectValue()["iscsiPortal"].StringValue())
}
