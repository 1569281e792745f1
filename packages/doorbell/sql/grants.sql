-- Who may call and read what. Run after the functions; safe to run again. Whatever is not named here is the owner's.

grant usage on schema doorbell to doorbell_worker, doorbell_web, doorbell_producer, doorbell_reader;
revoke execute on all functions in schema doorbell from public;
grant execute on function doorbell.tenant to public;   -- policies call it as whoever asks

grant execute on function doorbell.enqueue, doorbell.enqueue_many to doorbell_producer, doorbell_web, doorbell_worker;
grant execute on function doorbell.is_signed to doorbell_producer, doorbell_web, doorbell_worker, doorbell_reader;

grant execute on function
  doorbell.cancel, doorbell.replay, doorbell.discard, doorbell.resolve_effect, doorbell.story, doorbell.in_doubt,
  doorbell.stats, doorbell.beat, doorbell.sign_off, doorbell.add_lane, doorbell.setting
  to doorbell_web, doorbell_worker;

grant execute on function
  doorbell.tick, doorbell.claim, doorbell.settle, doorbell.extend, doorbell.take, doorbell.put_back, doorbell.sweep, doorbell.write_logs,
  doorbell.begin_effects, doorbell.finish_effects, doorbell.count_usage, doorbell.add_partitions, doorbell.retire,
  doorbell.canary
  to doorbell_worker;

-- Under the clamp: policies decide the rows.
grant select on
  doorbell.jobs, doorbell.dead_letters, doorbell.job_history, doorbell.all_jobs, doorbell.attempts, doorbell.job_logs,
  doorbell.effects, doorbell.effect_outcomes, doorbell.effect_states, doorbell.usage_counters
  to doorbell_web, doorbell_worker;

-- No tenant's.
grant select on doorbell.lanes to doorbell_producer, doorbell_web, doorbell_worker, doorbell_reader;
grant select on doorbell.workers, doorbell.settings, doorbell.migrations to doorbell_web, doorbell_worker, doorbell_reader;
