select
    e.employee_id,
    concat_ws(' ', e.first_name, e.last_name) as employee_name,
    e.job_code = 314 as is_broker,
    e.branch,
    e.office,
    concat_ws(' ', m.first_name, m.last_name) as manager_name,
    count(*) over (partition by e.branch) as branch_headcount
from {{ ref('bronze_employees') }} as e
left join {{ ref('bronze_employees') }} as m on m.employee_id = e.manager_id
