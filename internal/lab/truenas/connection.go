package truenas

import (
	"bytes"
	"encoding/json"
	"net"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
)

// Limits of a connection (api/base/server/ws_handler/rpc.py, RpcWebSocketApp; utils/limits.py).
const (
	runningCalls       = 10
	maxCalls           = 20
	maxBytesAnonymous  = 8192
	maxBytes           = 65536
	maxBytesOfAnything = 2097152
)

// connection is one WebSocket.
type connection struct {
	box     *Box
	socket  *websocket.Conn
	address string
	secure  bool
	running chan struct{}

	writing sync.Mutex // one message at a time

	mu            sync.Mutex
	calls         int // that run or wait
	user          *account
	subscriptions map[string]string // by their IDs
}

func newConnection(box *Box, socket *websocket.Conn, remote string, encrypted bool) *connection {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	address := net.ParseIP(host)
	return &connection{
		box: box, socket: socket, address: host, running: make(chan struct{}, runningCalls), subscriptions: map[string]string{},
		// Loopback counts as secure without TLS (utils/origin.py, secure_transport).
		secure: encrypted || address.IsLoopback(),
	}
}

// request is a message of a client. The ID is absent in a notification.
type request struct {
	Version any              `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id"`
	Method  any              `json:"method"`
	Params  any              `json:"params"`
}

// response answers a request.
type response struct {
	Version string           `json:"jsonrpc"`
	Result  any              `json:"result"`
	ID      *json.RawMessage `json:"id"`
}

// refusal answers a request that fails.
type refusal struct {
	Version string           `json:"jsonrpc"`
	Error   *failure         `json:"error"`
	ID      *json.RawMessage `json:"id"`
}

// serve reads messages until the connection ends. Calls run side by side, so answers come in any order.
func (b *Box) serve(c *connection) {
	b.mu.Lock()
	b.connections[c] = true
	b.mu.Unlock()
	defer func() {
		_ = c.socket.Close() // it may be closed
		b.mu.Lock()
		delete(b.connections, c)
		b.mu.Unlock()
	}()
	for {
		kind, message, err := c.socket.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			c.closeWith(websocket.CloseUnsupportedData, "Invalid websocket message type: <WSMsgType.BINARY: 2>")
			return
		}
		if !c.receive(message) {
			return
		}
	}
}

// receive handles a message; false ends the connection.
func (c *connection) receive(message []byte) bool {
	switch anonymous := c.account() == nil; {
	case anonymous && len(message) > maxBytesAnonymous:
		c.closeWith(websocket.CloseInvalidFramePayloadData, "Anonymous connection max message length is 8 kB")
		return false
	case len(message) > maxBytes:
		c.closeWith(websocket.CloseMessageTooBig, "Max message length is 64 kB")
		return false
	}
	if bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")) {
		c.send(refusal{"2.0", &failure{Code: codeInvalidJSON, Message: "Batch messages are not supported at this time"}, nil})
		return true
	}
	var r request
	decoder := json.NewDecoder(bytes.NewReader(message))
	decoder.UseNumber()
	if err := decoder.Decode(&r); err != nil {
		c.send(refusal{"2.0", &failure{Code: codeInvalidJSON, Message: err.Error()}, nil})
		return true
	}
	if wrong := r.wrong(); wrong != "" {
		c.refuse(r, &failure{Code: codeInvalidRequest, Message: wrong})
		return true
	}
	if _, known := c.box.methods[r.Method.(string)]; !known {
		c.refuse(r, &failure{Code: codeMethodNotFound, Message: "Method does not exist"})
		return true
	}
	go c.run(r)
	return true
}

// wrong returns why a message is not valid JSON-RPC; empty if it is (api/base/server/ws_handler/rpc.py,
// validate_message).
func (r *request) wrong() string {
	name, is := r.Method.(string)
	switch {
	case r.Version == nil:
		return "Missing 'jsonrpc' member"
	case r.Version != "2.0":
		return "'jsonrpc' member must be of type string and must be exactly '2.0'"
	case r.ID != nil && !slices.Contains([]byte(`"0123456789-n`), (*r.ID)[0]):
		return "'id' member must be of type null, string or number"
	case r.Method == nil:
		return "Missing 'method' member"
	case !is || name == "":
		return "'method' member must be of type string"
	}
	if r.Params == nil {
		r.Params = []any{}
	}
	if _, is := r.Params.([]any); !is {
		return "'params' member must be of type array"
	}
	return ""
}

// run carries out a call and answers it.
func (c *connection) run(r request) {
	result, err := c.limited(r.Method.(string), r.Params.([]any))
	if c.box.fails(faultCut, r.Method.(string)) {
		_ = c.socket.UnderlyingConn().Close() // what a cut leaves: the work is done, and no answer comes
		return
	}
	if err != nil {
		c.refuse(r, failureOf(err))
		return
	}
	if r.ID != nil {
		c.send(response{"2.0", result, r.ID})
	}
}

// limited lets ten calls run and ten more wait.
func (c *connection) limited(name string, params []any) (any, error) {
	c.mu.Lock()
	full := c.calls == maxCalls
	if !full {
		c.calls++
	}
	c.mu.Unlock()
	if full || c.box.fails(faultTooManyCalls, name) {
		if !full {
			c.ended()
		}
		return nil, tooManyCalls{}
	}
	defer c.ended()
	c.running <- struct{}{}
	defer func() { <-c.running }()
	return c.box.call(c, name, params)
}

func (c *connection) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
}

func (c *connection) refuse(r request, failed *failure) {
	if r.ID != nil {
		c.send(refusal{"2.0", failed, r.ID})
	}
}

// send writes a message. The reader notices when the client is gone.
func (c *connection) send(message any) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.socket.WriteMessage(websocket.TextMessage, []byte(encoded(message)))
}

func (c *connection) closeWith(code int, why string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.socket.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, why)) // the client may be gone
}

func (c *connection) account() *account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user
}

func (c *connection) loggedIn(user *account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user = user
}
