package operator_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// hostWithTokens serves an emulated host with the tokens em-infra@pve!operator and admin@pve!all, both with the same secret.
func hostWithTokens(t *testing.T, secret string) pve.Connection {
	t.Helper()
	server, err := proxmox.NewServer(proxmox.Config{
		Hosts: []proxmox.Host{{Name: "vmhost", Cores: 8, CPUModel: "AMD EPYC", MemoryMiB: 32 << 10}},
		Tokens: []proxmox.Token{
			{ID: "em-infra@pve!operator", Secret: secret, Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(schema.Release84)},
			{ID: "admin@pve!all", Secret: secret, Role: "Administrator"},
		},
		StateFile: filepath.Join(t.TempDir(), "host.json"), Now: time.Now,
	})
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, <-served)
	})
	return pve.Connection{Endpoint: "https://" + listener.Addr().String(), Token: "em-infra@pve!operator=" + secret, Insecure: true}
}

// sealedStack is a stack in folders, sealed with a passphrase.
type sealedStack struct {
	t          *testing.T
	dir, state string
	crypter    config.Crypter
	salt       string
}

func newSealedStack(t *testing.T) sealedStack {
	t.Helper()
	salt := []byte("saltsalt")
	s := sealedStack{t: t, dir: t.TempDir(), state: t.TempDir(), crypter: config.NewSymmetricCrypterFromPassphrase("open sesame", salt)}
	s.salt = "v1:" + base64.StdEncoding.EncodeToString(salt) + ":" + s.seal("pulumi")
	s.write(filepath.Join(s.dir, "Pulumi.yaml"), "name: em-infra\nruntime: go\n")
	s.write(filepath.Join(s.dir, "Pulumi.home.yaml"), "encryptionsalt: "+s.salt+"\n")
	return s
}

func (s sealedStack) seal(text string) string {
	s.t.Helper()
	sealed, err := s.crypter.EncryptValue(s.t.Context(), text)
	require.NoError(s.t, err)
	return sealed
}

func (s sealedStack) write(file, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
}

// has writes a state with one secret.
func (s sealedStack) has(secret string) { s.keeps(s.state, "home", secret) }

// other writes another stack of the project: its configuration, and its state with one secret.
func (s sealedStack) other(name, token, secret string) {
	s.write(filepath.Join(s.dir, "Pulumi."+name+".yaml"), "encryptionsalt: "+s.salt+"\nconfig:\n  em-infra:proxmoxToken:\n    secure: "+s.seal(token)+"\n")
	s.keeps(filepath.Join(s.dir, ".state"), name, secret)
}

func (s sealedStack) keeps(folder, stack, secret string) {
	s.write(filepath.Join(folder, ".pulumi", "stacks", "em-infra", stack+".json"), `{"version":3,"checkpoint":{"stack":"organization/em-infra/`+stack+`","latest":{`+
		`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"m","version":"v3.254.0"},"secrets_providers":{"type":"passphrase","state":{"salt":"`+s.salt+`"}},`+
		`"resources":[{"urn":"urn:pulumi:`+stack+`::em-infra::a:b:C::d","custom":true,"type":"a:b:C",`+
		`"outputs":{"token":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"`+s.seal(`"`+secret+`"`)+`"}}}],"metadata":{}}}}`)
}

// session returns a session that has read what the stack contains now.
func (s sealedStack) session(host pve.Connection) *operator.Session {
	s.t.Helper()
	return s.sessionIn(&workspace.Workspace{Stack: "home", Root: s.dir}, new(recordedEvents), host)
}

func (s sealedStack) sessionIn(work *workspace.Workspace, recorded *recordedEvents, host pve.Connection) *operator.Session {
	return operator.In(operator.Options{}, work, recorded, time.Now).Session("", nil).On(engine.State{
		Command: new(engine.Command), Dir: s.dir, Project: "em-infra", Stack: "home",
		Env: map[string]string{"PULUMI_BACKEND_URL": "file://" + s.state}, Passphrase: engine.NewPassphrase("open sesame"),
	}, host, remedy.Place{Stack: "--stack home"})
}

// TestTheTokenOfAStackIsReplaced: the configuration gets the new token, and the former one lives as long as the state contains it.
func TestTheTokenOfAStackIsReplaced(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	host, stack := hostWithTokens(t, secret), newSealedStack(t)
	stack.has(host.Token)
	_, err := stack.session(host).RotateTokenOn(t.Context(), operator.RotateTokenOptions{})
	require.EqualError(t, err, "the token may not manage tokens: set EM_INFRA_PROXMOX_ADMIN_TOKEN to one with User.Modify on /access/groups and Permissions.Modify on /, or replace the token by hand, see docs/security.md")

	options := operator.RotateTokenOptions{Administrator: "admin@pve!all=" + secret}
	rotated, err := stack.session(host).RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, &operator.TokenRotated{Made: "em-infra@pve!operator-r2", Former: "em-infra@pve!operator"}, rotated)
	saved, read := stack.session(host).State().Config()
	require.True(t, read)
	configured := saved[stacks.Key(stacks.KeyProxmoxToken)]
	require.True(t, configured.Secret)
	now := host
	now.Token = configured.Value
	_, err = now.Reach(t.Context())
	require.NoError(t, err)

	_, err = stack.session(now).RotateTokenOn(t.Context(), options)
	require.EqualError(t, err, "the state still contains the former token em-infra@pve!operator: run `em-infra up --stack home` first, then `em-infra rotate proxmox-token --stack home` again")
	_, err = host.Reach(t.Context())
	require.NoError(t, err, "it is still there")

	stack.has(now.Token)
	rotated, err = stack.session(now).RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, &operator.TokenRotated{Former: "em-infra@pve!operator"}, rotated)
	_, err = host.Reach(t.Context())
	require.ErrorContains(t, err, "refuses the token em-infra@pve!operator")
}

// TestATokenOfOtherStacksIsNotDeleted: they would lose Proxmox VE. Those that cannot be read are named.
func TestATokenOfOtherStacksIsNotDeleted(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	host, stack := hostWithTokens(t, secret), newSealedStack(t)
	options := operator.RotateTokenOptions{Administrator: "admin@pve!all=" + secret}
	work := &workspace.Workspace{Stack: "home", Root: stack.dir}
	recorded := new(recordedEvents)
	stack.has("none")
	_, err := stack.sessionIn(work, recorded, host).RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	saved, _ := stack.session(host).State().Config()
	host.Token = saved[stacks.Key(stacks.KeyProxmoxToken)].Value

	former := "em-infra@pve!operator=" + secret
	stack.other("elsewhere", "em-infra@pve!operator=11111111-2222-3333-4444-555555555555", "none")
	stack.other("systems", former, former)
	stack.write(filepath.Join(stack.dir, "Pulumi.locked.yaml"), "encryptionsalt: v1:AAAA:v1:AAAA:AAAA\nconfig:\n  em-infra:proxmoxToken:\n    secure: v1:AAAA:AAAA\n")
	s := stack.sessionIn(work, recorded, host)
	_, err = s.RotateTokenOn(t.Context(), options)
	require.EqualError(t, err, "the token em-infra@pve!operator is that of other stacks as well (systems), which would lose Proxmox VE: "+
		"set the new one, which stack home has, as em-infra:proxmoxToken of each, bring each of them up, then run `em-infra rotate proxmox-token --stack home` again")
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.NoError(t, s.TellUnreadTokens(t.Context()))
	require.Contains(t, *recorded, operator.Event(operator.Note{Text: "warning: the tokens of these stacks cannot be read here: locked; a stack that uses the former token too cannot reach Proxmox VE any more when that is deleted"}))

	stack.other("systems", host.Token, former)
	_, err = s.RotateTokenOn(t.Context(), options)
	require.ErrorContains(t, err, "is that of other stacks as well (systems)", "its state has it until the next up")

	stack.other("systems", host.Token, host.Token)
	rotated, err := s.RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, &operator.TokenRotated{Former: "em-infra@pve!operator"}, rotated)
}

// TestANewTokenOfAnotherStackIsNotMadeAnew: if two stacks have one token, the second one is refused, and has to take the token that the first one has
// made. If it cannot read whether the first one has it, it makes one of its own.
func TestANewTokenOfAnotherStackIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	host, stack := hostWithTokens(t, secret), newSealedStack(t)
	options := operator.RotateTokenOptions{Administrator: "admin@pve!all=" + secret}
	stack.has("none")
	_, err := stack.session(host).RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	saved, _ := stack.session(host).State().Config()
	made := saved[stacks.Key(stacks.KeyProxmoxToken)].Value
	stack.other("first", made, made)
	_, err = stack.session(host).RotateTokenOn(t.Context(), options)
	require.EqualError(t, err, "the token em-infra@pve!operator-r2 replaces that of stack home already, and other stacks have it (first): "+
		"set it as em-infra:proxmoxToken of stack home as well, run `em-infra up --stack home`, then `em-infra rotate proxmox-token --stack home` again")
	require.ErrorAs(t, err, new(*operator.RefusedError))

	stack.write(filepath.Join(stack.dir, "Pulumi.first.yaml"), "encryptionsalt: v1:AAAA:v1:AAAA:AAAA\nconfig:\n  em-infra:proxmoxToken:\n    secure: v1:AAAA:AAAA\n")
	stack.keeps(filepath.Join(stack.dir, ".state"), "first", "none")
	rotated, err := stack.session(host).RotateTokenOn(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, &operator.TokenRotated{Made: "em-infra@pve!operator-r3", Former: "em-infra@pve!operator"}, rotated)
	host.Token = made
	_, err = host.Reach(t.Context())
	require.NoError(t, err)
}

// TestATokenFromElsewhereIsNotReplaced: the new one is written into the configuration, over which the environment wins.
func TestATokenFromElsewhereIsNotReplaced(t *testing.T) {
	host, stack := hostWithTokens(t, rand.Text()), newSealedStack(t)
	stack.has(host.Token)
	work := &workspace.Workspace{Stack: "home", Inventory: t.TempDir()}
	s := stack.sessionIn(work, new(recordedEvents), host)
	t.Setenv(stacks.TokenVariable, "")
	require.NoError(t, s.CheckTokenIsConfigured(t.Context()))

	key := sopstest.NewKey(t)
	t.Setenv("SOPS_AGE_KEY", key.String())
	stack.write(filepath.Join(work.Inventory, "secrets.sops.yaml"), sopstest.Encrypt(t, "proxmox: {apiToken: em-infra@pve!home=made-up}\n", key))
	require.EqualError(t, s.CheckTokenIsConfigured(t.Context()), "the token is proxmox.apiToken in secrets.sops.yaml, and the new one is written into the stack's configuration: "+
		"replace the token by hand, see docs/security.md")
	t.Setenv(stacks.TokenVariable, host.Token)
	require.EqualError(t, s.CheckTokenIsConfigured(t.Context()), "the token is in EM_INFRA_PROXMOX_TOKEN, which wins over the stack's configuration, into which the new one is written: "+
		"unset it, or replace the token by hand, see docs/security.md")
}
