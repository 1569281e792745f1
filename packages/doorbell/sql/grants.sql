-- Who may call and read what. Run after the functions; safe to run again. Whatever is not named here is the owner's.

grant usage on schema doorbell to doorbell_worker, doorbell_web, doorbell_producer, doorbell_reader;
revoke execute on all functions in schema doorbell from public;
grant execute on function doorbell.tenant to public;   -- policies call it as whoever asks

grant execute on function doorbell.enqueue, doorbell.enqueue_many, doorbell.emit to doorbell_producer, doorbell_web, doorbell_worker;
grant execute on function doorbell.is_signed, doorbell.has_webhooks to doorbell_producer, doorbell_web, doorbell_worker, doorbell_reader;

grant execute on function
  doorbell.cancel, doorbell.replay, doorbell.refire, doorbell.close_breaker, doorbell.list_breakers, doorbell.discard, doorbell.resolve_effect, doorbell.story, doorbell.in_doubt,
  doorbell.stats, doorbell.beat, doorbell.sign_off, doorbell.add_lane, doorbell.setting,
  doorbell.add_webhook, doorbell.remove_webhook, doorbell.rotate_webhook, doorbell.set_webhook_state
  to doorbell_web, doorbell_worker;

grant execute on function
  doorbell.tick, doorbell.claim, doorbell.settle, doorbell.extend, doorbell.take, doorbell.put_back, doorbell.sweep, doorbell.write_logs,
  doorbell.begin_effects, doorbell.finish_effects, doorbell.count_usage, doorbell.add_partitions, doorbell.retire,
  doorbell.canary, doorbell.find_steps, doorbell.keep_steps, doorbell.wait_for, doorbell.spawn, doorbell.wake_parents, doorbell.webhooks_for, doorbell.webhook_target, doorbell.tell_delivery
  to doorbell_worker;

-- Under the clamp: policies decide the rows.
grant select on
  doorbell.jobs, doorbell.dead_letters, doorbell.job_history, doorbell.all_jobs, doorbell.attempts, doorbell.job_logs,
  doorbell.effects, doorbell.effect_outcomes, doorbell.effect_states, doorbell.usage_counters,
  doorbell.steps, doorbell.children, doorbell.events, doorbell.breakers,
  doorbell.webhook_endpoints, doorbell.webhook_deliveries
  to doorbell_web, doorbell_worker;
-- Of secrets, which there are, and until when.
grant select (tenant_id, endpoint_id, n, created_at, expires_at) on doorbell.webhook_secrets to doorbell_web, doorbell_worker;

-- No tenant's.
grant select on doorbell.lanes to doorbell_producer, doorbell_web, doorbell_worker, doorbell_reader;
grant select on doorbell.workers, doorbell.settings, doorbell.migrations to doorbell_web, doorbell_worker, doorbell_reader;
