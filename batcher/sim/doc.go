// Package sim shows what a policy of package batcher does under load, in virtual time: it drives the real
// [batcher.Former], and only clients and device are made up.
//
// # Clients
//
// They are a closed loop: a client has one request under way and asks again as soon as it is answered, or has lost
// patience (a time-out; what it asked for then leaves the queue). What it asks again has just missed the batch that is
// formed at the same moment. Only answers within the run count.
//
// # Device
//
// A batch of n windows takes Fixed + n × PerWindow. Where a recording is not cut up for the device ("whole": the
// policies that give it a turn of its own) it is one piece of work that takes as long as its windows one after the
// other. [Device].SameCost has it take that long however it is cut.
//
// The default device is one L4 with Whisper large-v3-turbo, as far as published figures tell: 0.60 s + 0.021 s a
// window, 12 s for a recording of 20 windows.
//
// Runs are deterministic: the same policy, load and duration give the same figures to the last digit.
package sim
