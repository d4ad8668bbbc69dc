package proxmox_test

import (
	"bufio"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// FuzzRequests sends invalid requests: the server answers each of them and continues.
func FuzzRequests(f *testing.F) {
	config := testConfig()
	secret := "fuzz-" + strings.Repeat("0", 8)
	config.Tokens = []proxmox.Token{{ID: operator, Secret: secret, Role: "Administrator"}}

	server, err := proxmox.NewServer(config)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, server.Close()) })

	for i, e := range proxmox.Endpoints() {
		f.Add(e.Verb, fill(e.Path, "UPID:vmhost:00000001:00000001:00000001:qmstart:1:root@pam:"), "vmid=101&name=a&net0=virtio", i%2 == 0)
	}

	f.Add("GET", "/../..//%00/{", "&&;;=%zz&a=b=c&[]=1", true)
	f.Add("POST", "/nodes/vmhost/qemu", `{"vmid":101,"name":[{}],"net0":null}`, false)
	f.Add("PUT", "/nodes/vmhost/qemu/101/config", "scsi0=:,,,=&ide2=cloudinit&delete=,;,&boot=order=;;", true)

	f.Fuzz(func(t *testing.T, verb, path, text string, form bool) {
		ask(t, server, operator+"="+secret, verb, path, text, form)
	})
}

// ask sends a request without a network and requires a response.
func ask(t *testing.T, server *proxmox.Server, token, verb, path, text string, form bool) int {
	t.Helper()

	target := &url.URL{Path: "/api2/json" + path}
	request := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(text))
	request.Method, request.URL = verb, target
	request.Header.Set("Authorization", "PVEAPIToken="+token)

	if form {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		request.Header.Set("Content-Type", "application/json")
	}

	if verb != http.MethodPost && verb != http.MethodPut {
		request.Body, request.ContentLength = http.NoBody, 0
		target.RawQuery = text
	}

	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, request)
	require.NotZero(t, recorder.Code)

	return recorder.Code
}

// TestMalformedRequestsInBulk sends thousands of almost valid parameters to every method.
func TestMalformedRequestsInBulk(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 net0=virtio,bridge=vmbr0"))

	described, err := schema.Load(schema.Release84)
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"", "0", "1", "-1", "101", "999999999", "tank:1", "tank:", ":", "local:iso/a.iso", "none", "order=", "a=b", ",", ";",
		"virtio,bridge=vmbr0", "mapping=x", "\x00", "é", strings.Repeat("9", 400), "%", "{", "1e309", "+1G", "cloudinit",
		"tank:cloudinit", "/dev/sda", "ip=dhcp", "enabled=1", "net0", "scsi0", "ide2", "name", "template=1",
	}
	pick := func() string { return pieces[random.IntN(len(pieces))] }

	for range 12 {
		for _, e := range proxmox.Endpoints() {
			method, ok := described.Method(e.Verb, e.Path)
			require.True(t, ok)

			params := url.Values{}

			for _, name := range sortedNames(method.Parameters) {
				if random.IntN(3) == 0 && !strings.Contains(e.Path, "{"+name+"}") {
					params.Add(strings.Replace(name, "[n]", "0", 1), pick()+pick())
				}
			}

			// A download would wait for the server in its address.
			params.Del("url")

			text := params.Encode()
			code := ask(t, l.server, l.token, e.Verb, fill(e.Path, pick()), text, true)
			// A failed login and an unconfirmed password return 401.
			require.Contains(t, []int{200, 400, 401, 403, 500, 501, 506}, code, "%s %s %s", e.Verb, e.Path, text)
		}
	}

	l.ok(http.MethodGet, "/version", nil, nil)
}

// TestGarbageOnTheWire sends bytes that are not a request.
func TestGarbageOnTheWire(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for _, garbage := range []string{"\x00\x01", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("A", 1<<16), "\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.base, "https://"))
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(eventually)))

		// The server may close the connection before everything is sent.
		tcp, ok := conn.(*net.TCPConn)
		require.True(t, ok)

		if _, err := tcp.Write([]byte(garbage)); err == nil && tcp.CloseWrite() == nil {
			_, _ = bufio.NewReader(tcp).ReadString('\n')
		}

		require.NoError(t, tcp.Close())
	}

	l.ok(http.MethodGet, "/version", nil, nil)
}
