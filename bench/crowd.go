package main

import (
	"fmt"
	"time"

	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/internal/adapters/natsbus"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
)

// How many capsules answer a list, and how many lists a round has.
const (
	crowdSize  = 100
	crowdLists = 60
)

// crowd takes the time of a list over warm capsules, from the broker's question to
// the sorted result. The capsules are seats of the bus in this process; what a
// program takes to answer is its own.
func (b *bench) crowd() error {
	owner := topic.PrincipalOf(id.New[id.Owner]())
	claim, err := topic.ParseClaim([]string{topic.DescribeResponse + ".*"}, []string{topic.DescribeRequest})
	if err != nil {
		return err
	}
	var members []describe.Member
	var bus *natsbus.Bus
	service, err := broker.New(broker.Ports{
		Members:     func(topic.Principal) []describe.Member { return members },
		AskDescribe: func(p topic.Principal, round string, at time.Time) error { return bus.AskDescribe(p, round, at) },
		AskRead:     func(topic.Principal, string, string, time.Time) error { return nil }, AskCancel: func(topic.Principal, string) error { return nil },
		Audit: func(broker.Event) {}, Changed: func(topic.Principal) {},
	})
	if err != nil {
		return err
	}
	if bus, err = natsbus.Open("bench", natsbus.Listener{Described: service.Described, Read: service.WasRead, Lost: service.Lost}, natsbus.Options{}); err != nil {
		return err
	}
	defer bus.Close()
	for i := range crowdSize {
		source := topic.SourceOf("bench", fmt.Sprint(i), "")
		answer := fmt.Appendf(nil, `{"resources":[{"uri":"n:%d/a","name":"a","mime-type":"text/plain"},{"uri":"n:%d/b","name":"b"}]}`, i, i)
		seated := make(chan *natsbus.Seat, 1)
		seat, err := bus.Admit(natsbus.Runtime{Principal: owner, Source: source, Claim: claim}, func(r natsbus.Request) {
			s := <-seated
			seated <- s
			_ = s.Answer(r, answer) // a list that lacks one fails below
		}, func() {})
		if err != nil {
			return err
		}
		defer seat.Close()
		seated <- seat
		members = append(members, describe.Member{Source: source, Name: fmt.Sprint(i), Order: int64(i), Since: b.began.Add(-time.Hour)})
	}
	var medians, worst, cpu []float64
	for range b.rounds + 1 {
		took, err := meter.Spread(1, crowdLists, func(_, _ int) error {
			got, err := service.List(b.ctx, owner)
			if err == nil && (!got.Complete || len(got.Listed) != 2*crowdSize) {
				err = fmt.Errorf("%d of %d listed", len(got.Listed), 2*crowdSize)
			}
			return err
		})
		if err != nil {
			return err
		}
		medians, worst, cpu = append(medians, ms(took.Quantile(0.5))), append(worst, ms(took.Quantile(0.99))), append(cpu, ms(took.CPU)/crowdLists)
	}
	// The first round connects.
	b.add(row{what: fmt.Sprintf("a list over %d warm capsules", crowdSize), figure: meter.Median(medians[1:]), unit: "ms", bar: 10,
		beside: fmt.Sprintf("%.1f ms of processor time; p99 %.1f ms; from the broker's question to the sorted result", meter.Median(cpu[1:]), meter.Median(worst[1:]))})
	return nil
}
