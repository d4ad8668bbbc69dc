package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	webhookv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
)

const fluxOfTheTest = `  flux:
    chart: {path: flux2}
    gitRepository: {url: "https://git.example/cluster"}
    kustomization: {}
    decryption: {ageKeyFile: age.txt}
`

const truenasOfTheTest = "  truenas: {host: nas.example, namespace: storage}\n"

// TestE2EAddons is the life of a cluster's addons: refused without what they need, installed with their keys, changed in
// place, held up by what can happen on the way, forgotten by a destroy that fails, removed, and gone with a dead cluster.
func TestE2EAddons(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-addons")
	a := &addonsUnderTest{rehearsal: r, plain: r.read(filepath.Join(r.inventory, "cluster.yaml")) + backupsOfTheTest(t)}

	a.areRefusedWithoutWhatTheyNeed()
	a.comeUp()
	a.letTheClusterStoreSnapshots()
	a.changeInPlace()
	a.areRefusedByAWebhook()
	a.outlastAnAPIThatDoesNotAnswer()
	a.areTakenOverAfterADestroyThatFailed()
	a.areRemoved()
	a.goWithADeadCluster()
}

// addonsUnderTest is a rehearsal whose inventory has addons.
type addonsUnderTest struct {
	*rehearsal
	plain string // cluster.yaml without addons
	key   *age.X25519Identity
}

// ask writes the addons into the inventory.
func (a *addonsUnderTest) ask(addons string) {
	a.t.Helper()
	if addons != "" {
		addons = "addons:\n" + addons
	}
	a.writeInventory("cluster.yaml", a.plain+addons)
}

// rotate writes another age key.
func (a *addonsUnderTest) rotate() {
	a.t.Helper()
	a.key = sopstest.NewKey(a.t)
	a.writeInventory("age.txt", a.key.String()+"\n")
}

// areRefusedWithoutWhatTheyNeed: a missing key is reported before anything is created, a missing chart when it is read.
func (a *addonsUnderTest) areRefusedWithoutWhatTheyNeed() {
	require.NoError(a.t, os.CopyFS(filepath.Join(a.inventory, "flux2"), os.DirFS(filepath.Join(a.root, "tests", "charts", "flux-like"))))
	a.ask(fluxOfTheTest)
	output := a.mustRun(3, "up", "--lab", "--yes")
	require.Contains(a.t, output, "addons.flux.decryption.ageKeyFile: has no file with the age key (it is looked for at "+filepath.Join(a.inventory, "age.txt")+"): correct the path or restore the file")
	a.writeInventory("age.txt", "AGE-SECRET-KEY-1HUNTER2\n")
	output = a.mustRun(3, "up", "--lab", "--yes")
	require.Contains(a.t, output, "has a file that holds no age key")
	require.NotContains(a.t, output, "HUNTER2")

	require.Empty(a.t, writes(a.calls()), "nothing was made")

	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nentries: {}\n")
	}))
	defer empty.Close()
	a.ask("  flux: {chart: {repository: \"" + empty.URL + "\"}}\n")
	output = a.mustRun(1, "up", "--lab", "--yes")
	require.Contains(a.t, output, `chart "flux2" version "2.18.3" not found in `+empty.URL+"\n")
	require.Contains(a.t, output, "correct version in the addon of cluster.yaml: ")
	require.True(a.t, a.stateHas("k3s-dev-addons-nodes"), "the cluster is there without it")
	require.Contains(a.t, output, "the cluster stands nevertheless:\n  kubectl --kubeconfig ")
	require.FileExists(a.t, filepath.Join(a.dir(), "kubeconfig"))
}

// comeUp installs all addons; a second run changes nothing.
func (a *addonsUnderTest) comeUp() {
	a.rotate()
	opener := sopstest.NewKey(a.t)
	a.writeInventory("opener.txt", opener.String()+"\n")
	a.writeInventory(secrets.File, sopstest.Encrypt(a.t, "truenas: {apiKey: made-up API key}\n"+keyOfTheBucket, opener))
	a.env = append(a.env, secrets.KeyFileVariable+"="+filepath.Join(a.inventory, "opener.txt"))
	a.ask(fluxOfTheTest + truenasOfTheTest + "  etcdBackup: {}\n")
	a.mustRun(0, "up", "--lab", "--yes")

	require.Equal(a.t, map[string][]byte{"age.agekey": []byte(a.key.String() + "\n")}, a.secret("flux-system", "sops-age").Data)
	require.Equal(a.t, map[string][]byte{"host": []byte("nas.example"), "apiKey": []byte("made-up API key")}, a.secret("storage", "truenas-api").Data)
	require.Equal(a.t, "1.0.0", a.controller().Labels["chart"])
	require.Equal(a.t, "flux-system", a.custom("kustomize.toolkit.fluxcd.io", "kustomizations")["sourceRef"].(map[string]any)["name"])
	require.Equal(a.t, "https://git.example/cluster", a.custom("source.toolkit.fluxcd.io", "gitrepositories")["url"])
	a.mustRun(0, "preview", "--lab")
	a.mustRun(0, "preview", "--lab", "--refresh")
	a.keepsNoKey()
}

// changeInPlace rotates the age key and upgrades the chart.
func (a *addonsUnderTest) changeInPlace() {
	before := a.secret("flux-system", "sops-age")
	a.rotate()
	a.mustRun(0, "up", "--lab", "--yes")
	after := a.secret("flux-system", "sops-age")
	require.Equal(a.t, before.UID, after.UID, "the Secret is the same, so that nobody is without a key for a moment")
	require.Equal(a.t, a.key.String()+"\n", string(after.Data["age.agekey"]))

	controller := a.controller()
	a.upgradeChart("1.0.0", "1.1.0")
	a.mustRun(0, "up", "--lab", "--yes")
	require.Equal(a.t, "1.1.0", a.controller().Labels["chart"])
	require.Equal(a.t, controller.UID, a.controller().UID)
	a.mustRun(0, "preview", "--lab")
}

// areRefusedByAWebhook: its message is shown, the rest of the cluster is usable, and the next run continues.
func (a *addonsUnderTest) areRefusedByAWebhook() {
	remove := a.webhook("no keys on a Saturday")
	a.rotate()
	require.Contains(a.t, a.mustRun(1, "up", "--lab", "--yes"), "no keys on a Saturday")
	require.NotEqual(a.t, a.key.String()+"\n", string(a.secret("flux-system", "sops-age").Data["age.agekey"]))
	remove()
	a.mustRun(0, "up", "--lab", "--yes")
	require.Equal(a.t, a.key.String()+"\n", string(a.secret("flux-system", "sops-age").Data["age.agekey"]))
}

// outlastAnAPIThatDoesNotAnswer: nothing is lost; the run does what it can, and the next one continues when the API answers
// again.
func (a *addonsUnderTest) outlastAnAPIThatDoesNotAnswer() {
	servers := a.apiServers()
	require.NotEmpty(a.t, servers)
	signal := func(s syscall.Signal) {
		for _, pid := range servers {
			require.NoError(a.t, syscall.Kill(pid, s))
		}
	}
	a.rotate()
	signal(syscall.SIGSTOP)
	output := &transcript{}
	up := a.command(a.t.Context(), "up", "--lab", "--yes", "--stack", a.stack, "--inventory", a.inventory)
	up.Stdout, up.Stderr = output, output
	require.NoError(a.t, up.Start())
	require.Eventually(a.t, func() bool { return strings.Contains(output.String(), "waits for the Kubernetes API") },
		5*time.Minute, 100*time.Millisecond, "a client gives up after half a minute, and there are some")
	require.Contains(a.t, output.String(), "not asked: what is in the cluster: the Kubernetes API at https://")
	signal(syscall.SIGCONT)
	require.NoError(a.t, up.Wait(), "%s", output.String())
	require.Equal(a.t, a.key.String()+"\n", string(a.secret("flux-system", "sops-age").Data["age.agekey"]))
}

// areTakenOverAfterADestroyThatFailed: objects in the cluster were removed from the state without a call, and still exist.
func (a *addonsUnderTest) areTakenOverAfterADestroyThatFailed() {
	controller, key := a.controller(), a.secret("flux-system", "sops-age")
	a.mustRun(0, "lab", "fault", "set", "forbidden", "--endpoint", "/nodes/{node}/qemu/{vmid}/status/stop")
	a.mustRun(1, "destroy", "--lab", "--yes")
	require.False(a.t, a.stateHas("k3s-dev-addons-flux2"))
	a.mustRun(0, "lab", "fault", "clear")

	a.mustRun(0, "up", "--lab", "--yes")
	require.Equal(a.t, controller.UID, a.controller().UID, "what runs is taken over, not made anew")
	require.Equal(a.t, key.UID, a.secret("flux-system", "sops-age").UID)
	a.mustRun(0, "preview", "--lab")
}

// areRemoved: an addon that is removed from the inventory is removed from the cluster, and the others stay.
func (a *addonsUnderTest) areRemoved() {
	a.ask(truenasOfTheTest)
	a.mustRun(0, "up", "--lab", "--yes")
	_, err := a.kubernetes().CoreV1().Namespaces().Get(a.t.Context(), "flux-system", metav1.GetOptions{})
	require.True(a.t, errors.IsNotFound(err), "%v", err)
	groups, err := a.kubernetes().Discovery().ServerGroups()
	require.NoError(a.t, err)
	for _, group := range groups.Groups {
		require.NotContains(a.t, group.Name, "fluxcd.io", "its CRDs went with it")
	}
	require.NotEmpty(a.t, a.secret("storage", "truenas-api").Data)
	_, err = a.kubernetes().CoreV1().Namespaces().Get(a.t.Context(), "etcd-backup", metav1.GetOptions{})
	require.True(a.t, errors.IsNotFound(err), "%v", err)
	a.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
}

// goWithADeadCluster: the addons are deleted without a call to the API.
func (a *addonsUnderTest) goWithADeadCluster() {
	a.power(false, 101)
	a.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(a.t, a.hostFiles().VMs)
}

func (a *addonsUnderTest) secret(namespace, name string) *corev1.Secret {
	a.t.Helper()
	secret, err := a.kubernetes().CoreV1().Secrets(namespace).Get(a.t.Context(), name, metav1.GetOptions{})
	require.NoError(a.t, err)
	return secret
}

func (a *addonsUnderTest) controller() *appsv1.Deployment {
	a.t.Helper()
	deployment, err := a.kubernetes().AppsV1().Deployments("flux-system").Get(a.t.Context(), "source-controller", metav1.GetOptions{})
	require.NoError(a.t, err)
	return deployment
}

// custom returns the spec of the object flux-system of a kind of Flux.
func (r *rehearsal) custom(group, plural string) map[string]any {
	r.t.Helper()
	path := fmt.Sprintf("/apis/%s/v1/namespaces/flux-system/%s/flux-system", group, plural)
	text, err := r.kubernetes().CoreV1().RESTClient().Get().AbsPath(path).DoRaw(r.t.Context())
	require.NoError(r.t, err)
	var object struct{ Spec map[string]any }
	require.NoError(r.t, json.Unmarshal(text, &object))
	return object.Spec
}

// keepsNoKey searches all files of the rehearsal for the keys, in clear text and in Kubernetes' encoding.
func (a *addonsUnderTest) keepsNoKey() {
	a.t.Helper()
	var needles []string
	for _, text := range []string{a.key.String(), "made-up API key", "made-up key of the bucket"} {
		needles = append(needles, text, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "=")[:20])
	}
	for _, folder := range []string{"artifacts", "backups", filepath.Dir(strings.TrimPrefix(a.stateFile(), a.dir()+"/"))} {
		require.NoError(a.t, filepath.WalkDir(filepath.Join(a.dir(), folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, needle := range needles {
				require.NotContains(a.t, string(text), needle, path)
			}
			return err
		}))
	}
}

// upgradeChart gives the chart beside the inventory another version.
func (a *addonsUnderTest) upgradeChart(old, now string) {
	a.t.Helper()
	a.edit("flux2/Chart.yaml", "version: "+old+"\n", "version: "+now+"\n")
}

// webhook makes a server refuse every change of a Secret in flux-system.
func (a *addonsUnderTest) webhook(why string) (remove func()) {
	a.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		if body, err := io.ReadAll(request.Body); err != nil || json.Unmarshal(body, &review) != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: why}}
		_ = json.NewEncoder(w).Encode(review) // the API server reports what is missing
	}))
	a.t.Cleanup(server.Close)
	name, fail, none := "refuses.example.com", webhookv1.Fail, webhookv1.SideEffectClassNone
	hooks := a.kubernetes().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(a.t.Context(), &webhookv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []webhookv1.ValidatingWebhook{{
			Name: name, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      webhookv1.WebhookClientConfig{URL: &server.URL, CABundle: certificateOf(server)},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "flux-system"}},
			Rules: []webhookv1.RuleWithOperations{{
				Operations: []webhookv1.OperationType{webhookv1.Update},
				Rule:       webhookv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(a.t, err)
	a.eventually("the webhook refuses", func() bool {
		secret := a.secret("flux-system", "sops-age")
		secret.Labels = map[string]string{"tried": "yes"}
		_, err := a.kubernetes().CoreV1().Secrets("flux-system").Update(a.t.Context(), secret, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), why)
	})
	return func() {
		require.NoError(a.t, hooks.Delete(a.t.Context(), name, metav1.DeleteOptions{}))
		a.eventually("the webhook is gone", func() bool {
			_, err := a.kubernetes().CoreV1().Secrets("flux-system").Update(a.t.Context(), a.secret("flux-system", "sops-age"), metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil
		})
	}
}

func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// apiServers returns the processes of the rehearsal's Kubernetes API.
func (a *addonsUnderTest) apiServers() []int {
	a.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(a.t, err)
	var pids []int
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(text), "\x00kube-apiserver\x00") && strings.Contains(string(text), a.dir()+"/") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			require.NoError(a.t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}
