package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
)

// TestE2EStateIsRestored: a backup replaces a state with any damage, and the next preview shows no change.
func TestE2EStateIsRestored(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	older := r.newestBackup()
	require.Contains(t, older, "-after-up")

	r.damage("torn")
	mended := r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(t, mended, r.stack+".json.attrs was torn and is removed")
	require.Contains(t, mended, "the state was torn (the file is cut off): its copy of ")
	r.mustRun(0, "preview", "--lab")

	r.aNewerStateIsKept()
	r.aTornClaimIsRemoved()
	for _, damage := range []struct{ name, refusal string }{
		{"deleted", "the state of stack " + r.stack + " is gone, but "},
		{"corrupted", "the state of stack " + r.stack + " cannot be read ("},
	} {
		r.damage(damage.name)
		seen := len(r.calls())
		refusal := r.mustRun(3, "up", "--lab", "--yes")
		require.Contains(t, refusal, damage.refusal)
		require.Contains(t, refusal, "`em-infra state restore --stack "+r.stack)
		require.Empty(t, writes(r.calls()[seen:]), "nothing is made once more")
		r.mustRun(0, "state", "restore", "--lab", "--yes")
		r.mustRun(0, "preview", "--lab", "--refresh")
	}

	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 104, address: 192.168.20.22}")
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), " backup     .lab/"+r.stack+"/backups/")
	newer := r.newestBackup()
	output := r.mustRun(0, "state", "restore", "--lab", "--yes", "--from", older)
	require.Contains(t, output, "FORGET     k3s-dev-worker-2-vm was made after the backup: it stays where it is")
	require.Contains(t, r.mustRun(2, "preview", "--lab"), "k3s-dev-worker-2", "an older state does not know it")
	r.mustRun(0, "state", "restore", "--lab", "--yes", "--from", newer)
	r.mustRun(0, "preview", "--lab", "--refresh")
	for _, write := range writes(r.calls()) {
		require.False(t, strings.HasPrefix(write, "DELETE "), "nothing was deleted, not: %s", write)
	}
}

// aNewerStateIsKept: a state that a newer Pulumi has written is sound, and nothing takes its place.
func (r *rehearsal) aNewerStateIsKept() {
	r.t.Helper()
	sound := r.read(r.stateFile())
	newer := regexp.MustCompile(`"version": *\d+`).ReplaceAllString(sound, `"version": 99`)
	require.NotEqual(r.t, sound, newer)
	require.NoError(r.t, os.WriteFile(r.stateFile(), []byte(newer), 0o600))
	const advice = "use an em-infra as new as the Pulumi CLI that wrote it"
	for _, command := range [][]string{{"up", "--lab", "--yes"}, {"state", "restore", "--lab", "--yes"}} {
		require.Contains(r.t, r.mustRun(3, command...), advice)
		require.Equal(r.t, newer, r.read(r.stateFile()))
	}
	require.NoError(r.t, os.WriteFile(r.stateFile(), []byte(sound), 0o600))
}

// aTornClaimIsRemoved by the command that the refusal names.
func (r *rehearsal) aTornClaimIsRemoved() {
	r.t.Helper()
	claim := filepath.Join(r.dir(), "state", ".pulumi", "claims", "em-infra", r.stack, "run.json")
	require.NoError(r.t, os.MkdirAll(filepath.Dir(claim), 0o700))
	require.NoError(r.t, os.WriteFile(claim, []byte("{"), 0o600))
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "`em-infra state unlock --force --stack "+r.stack)
	r.mustRun(0, "state", "unlock", "--lab", "--force")
	require.NoFileExists(r.t, claim)
}

// TestE2EStateIsRestoredWithPendingOperations: pending operations of a backup are recorded before the engine drops them, and
// settled on the host by the next up.
func TestE2EStateIsRestoredWithPendingOperations(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-state-pending")
	r.killDuringClone("pulumi", "sh")
	require.NotEmpty(t, r.pending())
	r.mustRun(0, "state", "unlock", "--lab")
	r.cloneEnds()
	require.Contains(t, r.mustRun(0, "state", "backup", "--lab"), "-by-hand.json")
	r.damage("deleted")

	output := r.mustRun(0, "state", "restore", "--lab", "--yes")
	require.Regexp(t, "recover +the creation of VM [0-9]+ \\(.+\\) was cut off", output)
	require.NotContains(t, output, "deleted", "nothing on the host is touched")
	require.Empty(t, r.pending())
	require.Contains(t, r.mustRun(0, "up", "--lab", "--yes"), "ended half way: what was left of it is deleted, it never ran")
	r.secureAPIAnswers(r.nodes())
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// TestE2EStateMovesToABucketAndBack: the cluster does not notice, and the passphrase stays what it was.
func TestE2EStateMovesToABucketAndBack(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	bucket := s3test.Start(t)
	r.env = []string{"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any"} //nolint:gosec // the server checks no key
	none := s3test.Before(t, bucket, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPut && s3test.Answer(w, http.StatusNotFound, "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>")
	}, (*httptest.Server).Start)
	require.Contains(t, r.mustRun(3, "state", "migrate", "--lab", "--yes", "--to", none), "there is no bucket s3://states (NoSuchBucket): create it, or correct its URL")
	r.livesInABucket(bucket, func(key, text string) {
		r.store(bucket+"&anonymous=true", key, text)
	})
	r.secureAPIAnswers(r.nodes())
	r.mustRun(0, "destroy", "--lab", "--yes")
}

// onS3 runs TestE2EStateOnARealS3Server, whose server is built.
var onS3 = flag.Bool("s3", false, "keep a state on a real S3 server, versitygw: TestE2EStateOnARealS3Server")

// TestE2EStateOnARealS3Server: the same on a server that checks signatures, dates, regions and checksums, over TLS. Run it with
//
//	go test ./tests/e2e -run TestE2EStateOnARealS3Server -s3
func TestE2EStateOnARealS3Server(t *testing.T) {
	t.Parallel()
	if !*onS3 {
		t.Skip("builds an S3 server, two minutes of processor time: run it with -s3")
	}
	r := standing(t, pair)
	server := s3test.StartVersitygw(t)
	r.env = server.Env
	r.livesInABucket(server.URL, func(key, text string) {
		file := filepath.Join(server.Folder, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	})
	r.secureAPIAnswers(r.nodes())
}

// livesInABucket moves the state there and back. In between there are previews, an up, and the lock of a run on another machine, which
// store writes.
func (r *rehearsal) livesInABucket(bucket string, store func(key, text string)) {
	t := r.t
	t.Helper()
	folder, stackFile := "file://"+filepath.Join(r.dir(), "state"), r.read(filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml"))
	r.mustRun(0, "state", "migrate", "--lab", "--yes", "--to", bucket)
	require.NoFileExists(t, r.stateFile())
	inBucket := r.read(filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml"))
	require.Equal(t, stackFile, regexp.MustCompile(` +em-infra:backend: s3://states\S+\n`).ReplaceAllString(inBucket, ""), "the salt of the passphrase, too")
	r.opensWith(stackFile, "is not in "+folder+" any more, it was moved to s3://states on ")
	r.opensWith(inBucket, "")
	r.mustRun(0, "preview", "--lab", "--refresh")
	require.Contains(t, r.mustRun(0, "preflight", "--lab"), "the bucket of the state, s3://states, stores, returns, copies, lists and deletes objects")
	require.Contains(t, r.mustRun(3, "state", "migrate", "--lab", "--yes", "--to", bucket), "the state is there already")
	require.Contains(t, r.mustRun(0, "state", "unlock", "--lab"), "no lock is on stack "+r.stack)

	store(".pulumi/locks/organization/em-infra/"+r.stack+"/one.json", fmt.Sprintf(`{"pid":4712,"username":"alice","hostname":"laptop.invalid","timestamp":%q}`, time.Now().UTC().Format(time.RFC3339)))
	const owner = "another run works on this stack (process 4712 of alice on laptop.invalid, since "
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), owner)
	require.Contains(t, r.mustRun(3, "state", "unlock", "--lab"), owner)
	r.mustRun(0, "state", "unlock", "--lab", "--force")
	require.Regexp(t, ` backup +\S+-after-up\.json and s3://states\n`, r.mustRun(0, "up", "--lab", "--yes"))
	require.Contains(t, r.mustRun(0, "state", "unlock", "--lab"), "no lock is on stack "+r.stack, "the run has ended its claim")
	require.Regexp(t, `\nbackups +of the state, the newest in s3://states \d min old\n`, r.mustRun(0, "status", "--lab"))
	newest := r.newestBackup()
	require.Regexp(t, newest+` .* both\n`, r.mustRun(0, "state", "list", "--lab"))
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir(), "backups"))) // as on another machine
	require.Contains(t, r.mustRun(0, "state", "restore", "--lab", "--yes"), "the backup "+newest+" is copied from s3://states")
	r.mustRun(0, "preview", "--lab", "--refresh")

	r.mustRun(0, "state", "migrate", "--lab", "--yes", "--to", folder)
	require.FileExists(t, r.stateFile())
	inFolder := r.read(filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml"))
	r.opensWith(inBucket, "is not in s3://states any more, it was moved to "+folder+" on ")
	r.opensWith(inFolder, "")
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// opensWith writes the stack's file, and checks with what a preview and an up refuse to work on its state; empty for a preview that works.
func (r *rehearsal) opensWith(stackFile, refusal string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir(), "Pulumi."+r.stack+".yaml"), []byte(stackFile), 0o600))
	if refusal == "" {
		r.mustRun(0, "preview", "--lab")
		return
	}
	for _, args := range [][]string{{"preview", "--lab"}, {"up", "--lab", "--yes"}, {"state", "restore", "--lab", "--yes"}} {
		require.Contains(r.t, r.mustRun(3, args...), refusal)
	}
}

// store writes an object into a bucket.
func (r *rehearsal) store(url, key, text string) {
	r.t.Helper()
	objects, err := bucket.Open(r.t.Context(), url, path.Dir(key), bucket.Limits{})
	require.NoError(r.t, err)
	require.NoError(r.t, objects.Write(r.t.Context(), path.Base(key), []byte(text)))
	require.NoError(r.t, objects.Close())
}

func (r *rehearsal) stateFile() string {
	return r.onLab("").StateFile()
}

// damage damages the state's file.
func (r *rehearsal) damage(how string) {
	r.t.Helper()
	whole := r.read(r.stateFile())
	switch how {
	case "deleted":
		require.NoError(r.t, os.RemoveAll(filepath.Dir(r.stateFile())))
	case "corrupted": // with every copy that lies beside it
		require.NoError(r.t, os.WriteFile(r.stateFile(), []byte(strings.ReplaceAll(whole, `"urn"`, `urn`)), 0o600))
		require.NoError(r.t, os.Remove(r.stateFile()+".bak"))
		for _, copies := range []string{"history", "backups"} {
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir(), "state", ".pulumi", copies)))
		}
	case "torn": // by a kill while the engine writes
		require.NoError(r.t, os.Truncate(r.stateFile(), int64(len(whole)/2)))
		require.NoError(r.t, os.WriteFile(r.stateFile()+".attrs", nil, 0o600))
	default:
		r.t.Fatalf("no such damage: %s", how)
	}
}

func (r *rehearsal) newestBackup() string {
	r.t.Helper()
	var backups []struct{ Name string }
	require.NoError(r.t, json.Unmarshal([]byte(r.mustRun(0, "state", "list", "--lab", "--output", "json")), &backups))
	require.NotEmpty(r.t, backups)
	return backups[0].Name
}
