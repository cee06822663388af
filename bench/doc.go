// Package bench measures: an OpenAI-compatible server under a closed loop of clients ([Load]), and what
// each operation of a device takes ([Meter]).
//
// A closed loop is clients that each send their next request when the last one was answered, as people
// and scripts do. What comes of it are waits by class and seconds of audio a second; a server that is
// overrun shows long waits, not an endless queue.
package bench
